// Made from docs/openapi.json by dashboard/tools. Do not edit: run `make generate`.

export interface paths {
    "/api/v1/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Who did what to which object, the latest first.
         * @description Changes of every kind but submissions of jobs, which are their own record. With the id of the key, never the key. Kept for 90
         *     days unless the configuration says otherwise.
         *
         *     Needs a key with the scope `admin`.
         */
        get: operations["list_audit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/dead": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List dead jobs: all attempts failed, and kept until somebody retries or deletes them.
         * @description The same as the list of jobs in the state `dead`, latest death first.
         *
         *     Needs a key with the scope `jobs:read`.
         */
        get: operations["list_dead_jobs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/dead/groups": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the errors of dead jobs, the most frequent first.
         * @description The same as `/api/v1/errors/groups?state=dead`.
         *
         *     Needs a key with the scope `jobs:read`.
         */
        get: operations["list_dead_groups"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/errors/groups": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the errors of failed and dead jobs, the most frequent first.
         * @description Errors are the same when they differ only in numbers, ids and the like. A group has jobs of one state: `failed` (no retry can help)
         *     or `dead` (all attempts are used up). Put `group` into `error_group` and `state` into `state` of a list or of a bulk call to look
         *     at all of them or to retry them. At most 100 groups, each counted to 10,000; `complete` says whether these are all. The
         *     deliveries of webhooks are not included.
         *
         *     Needs a key with the scope `jobs:read`.
         */
        get: operations["list_error_groups"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List jobs.
         * @description Newest first: by submission, or, when one final state is asked for, by the time they reached it. The deliveries of webhooks, which
         *     are jobs too, are left out unless `queue=foreman.webhooks` names them.
         *
         *     Needs a key with the scope `jobs:read`.
         */
        get: operations["list_jobs"];
        put?: never;
        /**
         * Submit a job.
         * @description After a 2xx the job is durable. With an `Idempotency-Key` (or the field `idempotency_key`) the request is safe to
         *     repeat for 24 hours: the same job is answered with 200, another body under the same key is refused.
         *
         *     Needs a key with the scope `jobs:write`.
         */
        post: operations["submit_job"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/batch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Submit up to 1,000 jobs.
         * @description Each is judged by itself: one that is not valid does not stop the others. What is accepted is accepted together, and
         *     durable after the answer.
         *
         *     Needs a key with the scope `jobs:write`.
         */
        post: operations["submit_batch"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel many jobs that have not ended.
         * @description The filter's `state` is one of the states before the end; without it, all of them. The deliveries of webhooks are left out unless
         *     `queue` names theirs.
         *
         *     Needs a key with the scope `jobs:write`.
         */
        post: operations["cancel_jobs"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/delete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Delete many ended jobs.
         * @description The filter's `state` is one of the final states; without it, all of them. The deliveries of webhooks are left out unless `queue`
         *     names theirs.
         *
         *     Needs a key with the scope `jobs:write`.
         */
        post: operations["delete_jobs"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Run many ended jobs again.
         * @description The filter's `state` is one of the final states. Without it, `dead`; with an `error_group`, `failed` and `dead`. The deliveries of
         *     webhooks are left out unless `queue` names theirs.
         *     Commands are left alone and counted in `skipped` where the key lacks the scope `exec:command`, or the server runs no commands.
         *
         *     Needs a key with the scope `jobs:write`.
         */
        post: operations["retry_jobs"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a job with its latest attempts.
         * @description Needs a key with the scope `jobs:read`.
         */
        get: operations["get_job"];
        put?: never;
        post?: never;
        /**
         * Delete a job that has ended, with all that is known of it.
         * @description Needs a key with the scope `jobs:write`.
         */
        delete: operations["delete_job"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{id}/attempts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List a job's attempts.
         * @description The latest first, at most 25 and about a megabyte per page. An attempt that ends between two pages moves the others along, so that
         *     one may be on both. Of more than 200 attempts the first 20 and the latest are kept.
         *
         *     Needs a key with the scope `jobs:read`.
         */
        get: operations["list_attempts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel a job.
         * @description One that waits is cancelled at once. One that runs is cancelled at once too: its worker is told and stops the work, and
         *     what it reports later is refused. Without the scope `jobs:read` the answer tells where the job stands, and nothing of its content.
         *
         *     Needs a key with the scope `jobs:write`.
         */
        post: operations["cancel_job"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{id}/output": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read what a running command has printed.
         * @description Only while an attempt runs in this process. What is kept afterwards stands with the job's attempts.
         *
         *     Needs a key with the scope `jobs:read`.
         */
        get: operations["read_output"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{id}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Run a job again that has ended.
         * @description The same job under the same id: its attempts are counted anew, and the earlier ones are kept and shown. A command needs the scope
         *     `exec:command`, as when it was submitted.
         *     Without the scope `jobs:read` the answer tells where the job stands, and nothing of its content.
         *
         *     Needs a key with the scope `jobs:write`.
         */
        post: operations["retry_job"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{id}/wait": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Wait until a job has ended.
         * @description Answers as soon as the job is final; at the timeout, or when the server stops, with the job as it is. Ends with 401 within a few
         *     seconds when the key is revoked or expires meanwhile.
         *
         *     Needs a key with the scope `jobs:read`.
         */
        get: operations["wait_for_job"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/overview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What there is, who works, and what needs a person. At most a second or two old.
         * @description A count with `estimate` is "at least so many": no list is counted further than 1,000. The deliveries of webhooks are not
         *     counted. Workers are shown to operators (scope
         *     `admin`), late schedules to those with `schedules:read`.
         *
         *     Needs a key with the scope `jobs:read`.
         */
        get: operations["get_overview"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/queues": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List queues: depth by state, the age of the oldest due job, and how fast jobs end.
         * @description Foreman's own queue `foreman.webhooks` is listed only where it is named.
         *
         *     Needs a key with the scope `jobs:read`.
         */
        get: operations["list_queues"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/queues/{queue}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Pause a queue: its jobs are not started. What runs goes on, and new jobs are still accepted.
         * @description Needs a key with the scope `jobs:write`.
         */
        post: operations["pause_queue"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/queues/{queue}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Resume a queue: its jobs are started again.
         * @description Needs a key with the scope `jobs:write`.
         */
        post: operations["resume_queue"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List schedules, by name.
         * @description Needs a key with the scope `schedules:read`.
         */
        get: operations["list_schedules"];
        put?: never;
        /**
         * Make a schedule.
         * @description From the next time it says on, each tick makes its job exactly once.
         *
         *     Needs a key with the scope `schedules:write`.
         */
        post: operations["create_schedule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules/preview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Show when a schedule that is not saved would fire.
         * @description It needs nothing but its time: `name` and `job` may be left out, and are judged where they are given.
         *
         *     Needs a key with the scope `schedules:read`.
         */
        post: operations["preview_unsaved_schedule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules/{schedule}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a schedule.
         * @description With its next tick, what became of the latest one, and its version as `ETag`.
         *
         *     Needs a key with the scope `schedules:read`.
         */
        get: operations["get_schedule"];
        /**
         * Replace a schedule, or make it.
         * @description With `If-Match` it is replaced only if it is at that version (or, with `*`, at any); with `If-None-Match: *` it is only made. A tick
         *     that was due before is fired first.
         *
         *     Needs a key with the scope `schedules:write`.
         */
        put: operations["replace_schedule"];
        post?: never;
        /**
         * Delete a schedule.
         * @description Its jobs stay. A tick that was due is fired first; one that is held is dropped. What became of its ticks is kept for a while.
         *
         *     Needs a key with the scope `schedules:write`.
         */
        delete: operations["delete_schedule"];
        options?: never;
        head?: never;
        /**
         * Change some fields of a schedule.
         * @description A JSON merge patch (RFC 7396): a field that is given replaces, `null` removes, and so inside `job`; anything deeper is replaced whole.
         *     Changing a schedule that runs a command needs the scope `exec:command`, even if only its times change.
         *
         *     Needs a key with the scope `schedules:write`.
         */
        patch: operations["update_schedule"];
        trace?: never;
    };
    "/api/v1/schedules/{schedule}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Pause a schedule: nothing fires until it is resumed, and nothing is made up for afterwards.
         * @description Needs a key with the scope `schedules:write`.
         */
        post: operations["pause_schedule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules/{schedule}/preview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show when a schedule will fire.
         * @description Each fire in UTC and on the clocks of its zone, with a note where a change of the clocks moved, merged or skipped it. Whether it is
         *     paused makes no difference.
         *
         *     Needs a key with the scope `schedules:read`.
         */
        get: operations["preview_schedule"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules/{schedule}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Resume a schedule: it fires again, from its next time on.
         * @description One that runs a command needs the scope `exec:command`.
         *
         *     Needs a key with the scope `schedules:write`.
         */
        post: operations["resume_schedule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules/{schedule}/run": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Make a schedule's job now.
         * @description Apart from the calendar: whether it is paused or not, and whatever else of it runs. Sent twice it makes two. One that runs a
         *     command needs the scope `exec:command`.
         *
         *     Needs a key with the scope `schedules:write`.
         */
        post: operations["run_schedule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules/{schedule}/ticks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List what became of a schedule's ticks, the latest first.
         * @description Fired, with the job that was made and where it stands; held, until the job of an earlier one is final; or skipped, and why.
         *
         *     Needs a key with the scope `schedules:read`.
         */
        get: operations["list_ticks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/session": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Sign in.
         * @description Swaps a key for the cookie `foreman_session`, which opens to a page of this server what the key opens, for 12 hours. A session that
         *     the browser had before is over. Where the server asks for no key it answers who one is, and no cookie is needed.
         *
         *     A request with the cookie and without `Authorization` is its holder's. One that changes something must come from a page of this
         *     server: `Sec-Fetch-Site: same-origin`, or `Origin` with the scheme and the host that the browser asked for.
         */
        post: operations["sign_in"];
        /**
         * Sign out.
         * @description The session of the cookie, if there is one, is over on every server of the team, and the cookie is cleared.
         */
        delete: operations["sign_out"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/statistics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * How many jobs were submitted, started and ended, and how long they waited and ran, minute by minute or hour by hour.
         * @description Of all queues together without `queue`; the deliveries of webhooks are left out unless `queue=foreman.webhooks` names them.
         *     At most 1,500 buckets; one in which nothing happened is left out, and queues are as deep in it as in the one before. The newest are
         *     a second or two behind. Hours are kept for `retention.statistics`, which is 30 days by default, and minutes for two days: a time
         *     that begins earlier is answered by the hour, and `step` says so.
         *
         *     Needs a key with the scope `jobs:read`.
         */
        get: operations["get_statistics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/statistics/queues": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The same numbers summed over the time, queue by queue: the busiest first, at most 100, without Foreman's own.
         * @description A time that begins more than two days ago is summed by the hour.
         *
         *     Needs a key with the scope `jobs:read`.
         */
        get: operations["get_queue_statistics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follow what happens, live.
         * @description Server-sent events, each with `event:`, `id:` and one line of JSON as `data:`.
         *
         *     - `job` (`JobEvent`): a job is in another state. Every final state is told; what happened in between may be merged, and
         *       `sequence`, which counts a job's moves from 1, shows it.
         *     - `schedule` (`ScheduleEvent`): a schedule ticked, or was made, changed or removed. Needs the scope `schedules:read` too, and is
         *       left out without it.
         *     - `worker` (`WorkerEvent`): a worker came, drains, went or died. For operators only.
         *     - `queue` (`QueueEvent`): a queue was paused or resumed.
         *     - `snapshot` (`SnapshotEvent`): the `job` events before it told how things stand; from here on comes what changes. A change that
         *       a snapshot has told already may be told again; `sequence` tells which is newer.
         *     - `heartbeat` (`HeartbeatEvent`): at the start and every 15 s. Who hears nothing for 40 s should connect again.
         *     - `reset` (`ResetEvent`): the cursor cannot be resumed, and the stream goes on from now; read the lists again.
         *
         *     With a filter on `job`, `kind` or `tag` only `job` events are told; one on `queue` keeps the `queue` events of those queues. A
         *     client that is cut off, for being slow, for a restart or for no fault of anybody's, sends the last `id:` it saw as `Last-Event-ID`
         *     or as `after` and misses nothing; `Last-Event-ID` is the one that counts.
         *
         *     Shown by a key in `Authorization`, by the session cookie of a page of this server, or by a ticket, which opens the stream once where
         *     no header can be sent; never by a key in the URL.
         *
         *     Needs a key with the scope `stream:read`.
         */
        get: operations["stream"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/stream/tickets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Get a ticket for the stream.
         * @description Good once and for 30 s, as `GET /api/v1/stream?ticket=…`: for an `EventSource`, which can send no header. It opens the stream of
         *     the tenant that this request is about, and is worth no more than the key behind it.
         *
         *     Needs a key with the scope `stream:read`.
         */
        post: operations["create_stream_ticket"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List tenants, by id.
         * @description Needs a key with the scope `admin`.
         */
        get: operations["list_tenants"];
        put?: never;
        /**
         * Make a tenant.
         * @description It has no keys yet. Its id is never used again, not even after it was deleted.
         *
         *     Needs a key with the scope `admin`.
         */
        post: operations["create_tenant"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants/{tenant}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a tenant.
         * @description With its limits, what its jobs may run, and its version as `ETag`.
         *
         *     Needs a key with the scope `admin`.
         */
        get: operations["get_tenant"];
        put?: never;
        post?: never;
        /**
         * Delete a tenant.
         * @description It must be disabled, and have no jobs and no schedules any more: an operator removes them with the header `Foreman-Tenant`. Its keys,
         *     webhooks and settings go with it; its id is never used again.
         *
         *     Needs a key with the scope `admin`.
         */
        delete: operations["delete_tenant"];
        options?: never;
        head?: never;
        /**
         * Change a tenant.
         * @description A JSON merge patch (RFC 7396): a field that is given replaces, `null` sets back to the default, and so inside `limits`. A tenant
         *     that is disabled keeps what it has; its keys open nothing within seconds.
         *
         *     Needs a key with the scope `admin`.
         */
        patch: operations["update_tenant"];
        trace?: never;
    };
    "/api/v1/tenants/{tenant}/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List a tenant's keys, by id; also those that open nothing any more.
         * @description Needs a key with the scope `admin`.
         */
        get: operations["list_keys"];
        put?: never;
        /**
         * Make a key.
         * @description The answer is the one moment in which it is shown: only its hash is kept. Nobody gives scopes that they have not.
         *
         *     Needs a key with the scope `admin`.
         */
        post: operations["create_key"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants/{tenant}/keys/{key}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read what is known of a key. The key itself is not kept.
         * @description Needs a key with the scope `admin`.
         */
        get: operations["get_key"];
        put?: never;
        post?: never;
        /**
         * Revoke a key.
         * @description From now on it opens nothing, within 5 seconds on every server and on open streams. It cannot be taken back. The key stays
         *     listed; revoked again it stays as it is.
         *
         *     Needs a key with the scope `admin`.
         */
        delete: operations["revoke_key"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants/{tenant}/keys/{key}/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Replace a key by a new one that is good for the same.
         * @description The old one goes on for the time of grace, `24h` unless said otherwise, and never gains time by this; `0s` ends it at once. The
         *     answer is the one moment in which the new one is shown.
         *
         *     Needs a key with the scope `admin`.
         */
        post: operations["rotate_key"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants/{tenant}/signing-secret": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Make a tenant's signing secret, or change it for another.
         * @description From now on its pushes and callbacks are signed with it (Standard Webhooks). One that was there before signs beside it for
         *     the overlap, `24h` unless said otherwise. The answer is the one moment in which it is shown.
         *
         *     Needs a key with the scope `admin`.
         */
        post: operations["rotate_signing_secret"];
        /**
         * Take a tenant's signing secret away: nothing is signed any more.
         * @description Needs a key with the scope `admin`.
         */
        delete: operations["delete_signing_secret"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/webhooks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List webhooks, oldest first.
         * @description Needs a key with the scope `jobs:read`.
         */
        get: operations["list_webhooks"];
        put?: never;
        /**
         * Make a webhook.
         * @description Its `secret` is in this answer and in no other: keep it where messages are verified.
         *
         *     Needs a key with the scope `jobs:write`.
         */
        post: operations["create_webhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/webhooks/{webhook}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a webhook. Its secret is not shown again.
         * @description Needs a key with the scope `jobs:read`.
         */
        get: operations["get_webhook"];
        put?: never;
        post?: never;
        /**
         * Delete a webhook. What is on its way to it is given up.
         * @description Needs a key with the scope `jobs:write`.
         */
        delete: operations["delete_webhook"];
        options?: never;
        head?: never;
        /**
         * Change a webhook: what is given, and nothing else.
         * @description `"enabled": true` begins anew after it was disabled for its failures.
         *
         *     Needs a key with the scope `jobs:write`.
         */
        patch: operations["update_webhook"];
        trace?: never;
    };
    "/api/v1/webhooks/{webhook}/deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List a webhook's deliveries, newest first.
         * @description Needs a key with the scope `jobs:read`.
         */
        get: operations["list_deliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/webhooks/{webhook}/deliveries/{delivery}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a delivery: the message, and how each try went.
         * @description Needs a key with the scope `jobs:read`.
         */
        get: operations["get_delivery"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/webhooks/{webhook}/deliveries/{delivery}/resend": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a delivery again that has ended: the same message under the same id.
         * @description Needs a key with the scope `jobs:write`.
         */
        post: operations["resend_delivery"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/webhooks/{webhook}/rotate-secret": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Change a webhook's secret for another.
         * @description Both sign for a while, so that a receiver that knows either goes on verifying. The new one is in this answer and in no other.
         *
         *     Needs a key with the scope `jobs:write`.
         */
        post: operations["rotate_webhook_secret"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/webhooks/{webhook}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a webhook a message of the event `webhook.test`.
         * @description Needs a key with the scope `jobs:write`.
         */
        post: operations["test_webhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/whoami": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Who am I?
         * @description The tenant, the key's id and its scopes, and the limits in force. Any key will do.
         *
         *     Any key will do.
         */
        get: operations["whoami"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List workers: the living first, then those that ended or died lately.
         * @description Needs a key with the scope `admin`.
         */
        get: operations["list_workers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workers/{worker}/jobs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List what a worker is running, the longest first.
         * @description Needs a key with the scope `admin`.
         */
        get: operations["list_worker_jobs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/healthz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Is the process alive? */
        get: operations["healthz"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What is counted, for Prometheus */
        get: operations["metrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Should the process be sent work?
         * @description It should while its store answers, has never been found damaged since the start, the process is not stopping, and, where it fires
         *     schedules, it is not too far behind.
         */
        get: operations["readyz"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description The part of a job document that repeats what was asked. */
        Asked: {
            backoff?: components["schemas"]["BackoffSpec"] | null;
            body?: string | null;
            callback_url?: string | null;
            command?: components["schemas"]["CommandSpec"] | null;
            correlation_id?: string | null;
            cwd?: string | null;
            env?: {
                [key: string]: string;
            } | null;
            exit_codes?: components["schemas"]["ExitCodes"] | null;
            /** Format: date-time */
            expires_at?: string | null;
            headers?: {
                [key: string]: string;
            } | null;
            idempotency_key?: string | null;
            kind?: string | null;
            method?: string | null;
            payload?: unknown;
            tags?: string[];
            task?: string | null;
            timeout?: string | null;
            url?: string | null;
        };
        /** @description One try. */
        AttemptDocument: {
            /** Format: int64 */
            duration_ms?: number | null;
            error?: string | null;
            /**
             * Format: int64
             * @description The number of the claim it ran under, as sent to the target in `Foreman-Fence`.
             */
            fence?: number | null;
            /** Format: date-time */
            finished_at?: string | null;
            /**
             * Format: int32
             * @description 0 when the job ended without a try.
             */
            number: number;
            outcome?: components["schemas"]["AttemptOutcome"] | null;
            output?: components["schemas"]["CommandReport"] | null;
            response?: components["schemas"]["HttpReport"] | null;
            /** Format: date-time */
            started_at?: string | null;
            worker?: string | null;
        };
        /**
         * @description How an attempt ended, as it is kept and shown.
         * @enum {string}
         */
        AttemptOutcome: "completed" | "failed" | "retry" | "interrupted" | "released" | "lapsed" | "cancelled" | "dead";
        /** @description Something that a person should look at. */
        AttentionDocument: {
            /** Format: int64 */
            count: number;
            /** @description A sentence. */
            detail: string;
            estimate: boolean;
            kind: components["schemas"]["AttentionKind"];
            /** Format: date-time */
            since?: string | null;
            /** @description Which queue, worker or webhook, where it is one. */
            subject?: string | null;
        };
        /** @enum {string} */
        AttentionKind: "dead-jobs" | "failed-jobs" | "paused-queue" | "lapsed-worker" | "late-schedules" | "disabled-webhook" | "no-worker";
        /** @description Who did what to which object, and when. */
        AuditDocument: {
            /** @example key.revoke */
            action: string;
            /**
             * @description The id of a key, or `bootstrap`, `nobody`, `direct` or `system`.
             * @example 4k2m9x7q1w3z
             */
            actor: string;
            /** Format: date-time */
            at: string;
            id: string;
            /** @example key/8d3j5h2n6p0r */
            object: string;
            /** @description The address it came from. */
            peer?: string | null;
            /** @description The request's id. */
            request?: string | null;
            /**
             * Format: int32
             * @description As it was answered.
             */
            status: number;
            /** @description Whose object it is. */
            tenant: string;
        };
        /** @description What is left out keeps the target's default. */
        BackoffSpec: {
            /** @example 10s */
            base?: string | null;
            /** @example 1h */
            cap?: string | null;
            /** Format: double */
            factor?: number | null;
        };
        BatchAnswer: {
            /** @description One for each job of the request, in its order: the job, or the problem with its `status`. */
            results: components["schemas"]["BatchItem"][];
        };
        /** @description One answer of a batch. */
        BatchItem: components["schemas"]["JobDocument"] | components["schemas"]["ProblemDocument"];
        BatchRequest: {
            jobs: components["schemas"]["JobSpec"][];
        };
        BucketDocument: components["schemas"]["TallyDocument"] & {
            /**
             * Format: date-time
             * @description When the minute or hour begins.
             */
            at: string;
        };
        BulkAnswer: {
            /**
             * Format: int64
             * @description How many were changed; fewer than matched when some moved on meanwhile. 0 in a dry run.
             */
            changed: number;
            /** Format: int64 */
            matched: number;
            /**
             * Format: int64
             * @description How many of those matched are commands that were left alone, because the key lacks `exec:command` or the server runs no
             *     commands. 0 in a dry run.
             */
            skipped?: number;
        };
        BulkRequest: {
            /** @description Only count. */
            dry_run?: boolean;
            filter: components["schemas"]["FilterDocument"];
        };
        Check: {
            /** @description Why not, or what else is to be known. */
            detail?: string | null;
            name: string;
            ok: boolean;
        };
        /** @description What a command printed, the first 64 KiB of each stream, and how it ended. */
        CommandReport: {
            /** Format: int32 */
            exit_code?: number | null;
            /** Format: int32 */
            signal?: number | null;
            stderr?: string;
            stderr_truncated?: boolean;
            stdout?: string;
            stdout_truncated?: boolean;
        };
        CommandSpec: string | string[];
        CountDocument: {
            /** Format: int64 */
            count: number;
            /** @description There are at least so many: nobody counts a long history. */
            estimate: boolean;
        };
        /** @description One message on its way to an endpoint, or arrived there, or given up. */
        DeliveryDocument: {
            /** @description The job it tells of. */
            about?: string | null;
            /** Format: int32 */
            attempt?: number | null;
            /** Format: date-time */
            created_at: string;
            error?: string | null;
            event: string;
            /** Format: date-time */
            finished_at?: string | null;
            /** @description Of the delivery, which is a job itself. */
            id: string;
            job?: components["schemas"]["JobDocument"] | null;
            /** @description As sent in `webhook-id`, the same at every try. */
            message_id: string;
            /**
             * Format: date-time
             * @description When it is tried next; `null` when it is over.
             */
            next_attempt_at?: string | null;
            state?: components["schemas"]["State"] | null;
            /**
             * Format: int32
             * @description What the endpoint answered last.
             */
            status?: number | null;
            webhook: string;
        };
        /**
         * @description Why an endpoint is sent nothing.
         * @enum {string}
         */
        Disabled: "by_owner" | "gone" | "failing";
        /**
         * @description What becomes of a local time that does not exist because the clocks are put forward.
         * @enum {string}
         */
        DstGap: "next_valid" | "skip";
        /**
         * @description What becomes of a local time that comes twice because the clocks are put back.
         * @enum {string}
         */
        DstOverlap: "first" | "both";
        /** @description Which exit codes complete a command and which fail it at once; every other code is tried again. */
        ExitCodes: {
            /**
             * @default [
             *       0
             *     ]
             */
            completed: number[];
            /**
             * @default [
             *       126,
             *       127
             *     ]
             */
            failed: number[];
        };
        /** @description Jobs that failed or died with the same error, but for its numbers. */
        FailureGroupDocument: {
            /** Format: int64 */
            count: number;
            /** @description What the last of them said. */
            error?: string | null;
            /** @description There are at least so many. */
            estimate: boolean;
            /** Format: date-time */
            first_at: string;
            /** @description For `error_group` of a filter. `null`: they ended before errors were grouped, and are found by their state alone. */
            group?: string | null;
            /** @description The last of them. */
            job: string;
            /** @description Of the last of them. */
            kind?: string | null;
            /** Format: date-time */
            last_at: string;
            queue: string;
            /** @description `failed` or `dead`: all of a group ended in the same state. */
            state?: components["schemas"]["State"];
        };
        /** @description The errors of failed and dead jobs, the most frequent first. */
        FailureGroupsDocument: {
            /**
             * @description `false`: there are more groups than these. With more than a few thousand not all are counted, but those that are frequent
             *     among the latest jobs are.
             */
            complete: boolean;
            items: components["schemas"]["FailureGroupDocument"][];
            /** @description Always `null`: there is one page. */
            next?: string | null;
        };
        /** @description Which jobs a bulk call is about. Without any field it is about every job. */
        FilterDocument: {
            correlation_id?: string | null;
            /** Format: date-time */
            created_after?: string | null;
            /** Format: date-time */
            created_before?: string | null;
            /** @description Final jobs that ended with an error of this group; `group` of the list of groups. Not `null`: that would be every job. */
            error_group?: string | null;
            kind?: string | null;
            queue?: string | null;
            state?: components["schemas"]["State"] | null;
            tag?: string | null;
        };
        Health: {
            /** @description Always `alive`: a process that is not does not answer. */
            status: string;
            version: string;
        };
        /** @description `event: heartbeat`. The server is there, and nothing has happened. */
        HeartbeatEvent: {
            /** Format: date-time */
            at: string;
        };
        /** @description What a worker is running. */
        HeldDocument: {
            /** Format: int32 */
            attempt: number;
            id: string;
            kind?: string | null;
            queue: string;
            /** Format: date-time */
            started_at: string;
            tenant: string;
        };
        /** @description Something about a job that its owner may not know. */
        HintDocument: {
            /** @description A sentence. */
            detail: string;
            kind: components["schemas"]["HintKind"];
        };
        /** @enum {string} */
        HintKind: "no-worker" | "unknown";
        /** @description What a target answered: status, selected headers and the first 4 KiB. */
        HttpReport: {
            body?: string;
            headers?: [
                string,
                string
            ][];
            /** Format: int32 */
            status: number;
            /** @description The answer was longer than what is kept. */
            truncated?: boolean;
        };
        /**
         * @description A job: what was asked, flat, and where it stands. In a list `payload`, `body`, `headers`, `env`, `cwd`, `exit_codes` and `attempts`
         *     are left out, and a command or an error of more than 1,000 characters is cut and ends in `…`; the job itself has them all.
         */
        JobDocument: components["schemas"]["Asked"] & {
            /**
             * Format: int32
             * @description The number of the latest try; it never falls.
             */
            attempt: number;
            /** @description The latest attempts in the order in which they happened, at most 25 and about a megabyte. Only when one job is read. */
            attempts?: components["schemas"]["AttemptDocument"][] | null;
            /** @description Where there are older attempts than those in `attempts`: the `cursor` for the first page of them. */
            attempts_next?: string | null;
            /**
             * Format: int64
             * @description How many attempts there have been. Of more than 200 the first 20 and the latest are kept.
             */
            attempts_total?: number | null;
            /**
             * Format: int32
             * @description How often a worker died while it ran this job.
             */
            crashes: number;
            /** Format: date-time */
            created_at: string;
            /** @description Why the latest try did not complete. */
            error?: string | null;
            /** Format: date-time */
            finished_at?: string | null;
            /** @description What keeps it from running, as far as the server can tell. Only when one job is read or submitted. */
            hints?: components["schemas"]["HintDocument"][];
            id: string;
            /** Format: int32 */
            max_attempts: number;
            priority: components["schemas"]["Lane"];
            queue: string;
            /** Format: date-time */
            run_at: string;
            /** @description The schedule whose tick made it. */
            schedule?: string | null;
            /**
             * Format: date-time
             * @description The instant that tick belongs to.
             */
            scheduled_for?: string | null;
            /**
             * Format: int32
             * @description How often it has moved, from 1: `sequence` of its latest event on the stream.
             */
            sequence?: number;
            /**
             * Format: int32
             * @description Tries that count against `max_attempts`; interrupted ones are given back.
             */
            spent: number;
            /** Format: date-time */
            started_at?: string | null;
            state: components["schemas"]["State"];
        };
        /** @description `event: job`. A job is in another state now. What happened in between may be merged: `sequence` shows it. */
        JobEvent: {
            /** Format: date-time */
            at: string;
            /** Format: int32 */
            attempt: number;
            id: string;
            queue: string;
            /**
             * Format: int32
             * @description Counts a job's moves, from 1.
             */
            sequence: number;
            state: components["schemas"]["State"];
        };
        /** @description The fields of a job. Exactly one of `url`, `command` and `task` says what it does; everything else has a default. */
        JobSpec: {
            backoff?: components["schemas"]["BackoffSpec"] | null;
            /** @description Raw text instead of `payload`. */
            body?: string | null;
            /** @description Told when the job is final, by a signed message (see webhooks). */
            callback_url?: string | null;
            command?: components["schemas"]["CommandSpec"] | null;
            correlation_id?: string | null;
            /** @description The command's working directory, an absolute path. */
            cwd?: string | null;
            /**
             * @description Not before this much later, such as `90s`.
             * @example 1h30m
             */
            delay?: string | null;
            /** @description Variables of the command, beside those the worker passes on. */
            env?: {
                [key: string]: string;
            } | null;
            exit_codes?: components["schemas"]["ExitCodes"] | null;
            /**
             * Format: date-time
             * @description Start by: a job that has not started by then fails with error `expired`.
             */
            expires_at?: string | null;
            headers?: {
                [key: string]: string;
            } | null;
            /** @description Makes the submission safe to repeat for 24 hours; the header `Idempotency-Key` says the same. */
            idempotency_key?: string | null;
            /** @description A label to filter by. */
            kind?: string | null;
            /** Format: int32 */
            max_attempts?: number | null;
            /** @description Of the request: POST, PUT, PATCH, GET, DELETE or HEAD. */
            method?: string | null;
            /** @description Any JSON: the body of the request, the task's argument, or the command's standard input, to the letter. */
            payload?: unknown;
            priority?: components["schemas"]["Lane"] | null;
            /** @description Letters, digits, `.`, `_`, `-`, up to 64. */
            queue?: string | null;
            /**
             * Format: date-time
             * @description Not before this time; one in the past means now.
             */
            run_at?: string | null;
            tags?: string[] | null;
            /** @description Call the task of this name. */
            task?: string | null;
            /**
             * @description Of one attempt.
             * @example 30s
             */
            timeout?: string | null;
            /** @description Call this URL. */
            url?: string | null;
        };
        /** @description A key, without its secret. */
        KeyDocument: {
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            expires_at?: string | null;
            /** @description The part of the key between its underscores. */
            id: string;
            /**
             * Format: date-time
             * @description To the minute or so; `null` when it never was.
             */
            last_used_at?: string | null;
            name: string;
            /** @description The key that was made to take its place. */
            replaced_by?: string | null;
            /** Format: date-time */
            revoked_at?: string | null;
            scopes: components["schemas"]["Scope"][];
            state: components["schemas"]["KeyState"];
            tenant: string;
        };
        /** @enum {string} */
        KeyState: "live" | "expired" | "revoked";
        /** @enum {string} */
        Lane: "high" | "normal" | "low";
        /** @description A number, or `unlimited`. */
        LimitDocument: number | components["schemas"]["Unlimited"];
        /** @description A page of anything: `next` is handed back unchanged to get the following one, and `null` on the last. */
        ListDocument_AttemptDocument: {
            items: {
                /** Format: int64 */
                duration_ms?: number | null;
                error?: string | null;
                /**
                 * Format: int64
                 * @description The number of the claim it ran under, as sent to the target in `Foreman-Fence`.
                 */
                fence?: number | null;
                /** Format: date-time */
                finished_at?: string | null;
                /**
                 * Format: int32
                 * @description 0 when the job ended without a try.
                 */
                number: number;
                outcome?: components["schemas"]["AttemptOutcome"] | null;
                output?: components["schemas"]["CommandReport"] | null;
                response?: components["schemas"]["HttpReport"] | null;
                /** Format: date-time */
                started_at?: string | null;
                worker?: string | null;
            }[];
            next?: string | null;
        };
        /** @description A page of anything: `next` is handed back unchanged to get the following one, and `null` on the last. */
        ListDocument_AuditDocument: {
            items: {
                /** @example key.revoke */
                action: string;
                /**
                 * @description The id of a key, or `bootstrap`, `nobody`, `direct` or `system`.
                 * @example 4k2m9x7q1w3z
                 */
                actor: string;
                /** Format: date-time */
                at: string;
                id: string;
                /** @example key/8d3j5h2n6p0r */
                object: string;
                /** @description The address it came from. */
                peer?: string | null;
                /** @description The request's id. */
                request?: string | null;
                /**
                 * Format: int32
                 * @description As it was answered.
                 */
                status: number;
                /** @description Whose object it is. */
                tenant: string;
            }[];
            next?: string | null;
        };
        /** @description A page of anything: `next` is handed back unchanged to get the following one, and `null` on the last. */
        ListDocument_DeliveryDocument: {
            items: {
                /** @description The job it tells of. */
                about?: string | null;
                /** Format: int32 */
                attempt?: number | null;
                /** Format: date-time */
                created_at: string;
                error?: string | null;
                event: string;
                /** Format: date-time */
                finished_at?: string | null;
                /** @description Of the delivery, which is a job itself. */
                id: string;
                job?: components["schemas"]["JobDocument"] | null;
                /** @description As sent in `webhook-id`, the same at every try. */
                message_id: string;
                /**
                 * Format: date-time
                 * @description When it is tried next; `null` when it is over.
                 */
                next_attempt_at?: string | null;
                state?: components["schemas"]["State"] | null;
                /**
                 * Format: int32
                 * @description What the endpoint answered last.
                 */
                status?: number | null;
                webhook: string;
            }[];
            next?: string | null;
        };
        /** @description A page of anything: `next` is handed back unchanged to get the following one, and `null` on the last. */
        ListDocument_HeldDocument: {
            items: {
                /** Format: int32 */
                attempt: number;
                id: string;
                kind?: string | null;
                queue: string;
                /** Format: date-time */
                started_at: string;
                tenant: string;
            }[];
            next?: string | null;
        };
        /** @description A page of anything: `next` is handed back unchanged to get the following one, and `null` on the last. */
        ListDocument_JobDocument: {
            items: (components["schemas"]["Asked"] & {
                /**
                 * Format: int32
                 * @description The number of the latest try; it never falls.
                 */
                attempt: number;
                /** @description The latest attempts in the order in which they happened, at most 25 and about a megabyte. Only when one job is read. */
                attempts?: components["schemas"]["AttemptDocument"][] | null;
                /** @description Where there are older attempts than those in `attempts`: the `cursor` for the first page of them. */
                attempts_next?: string | null;
                /**
                 * Format: int64
                 * @description How many attempts there have been. Of more than 200 the first 20 and the latest are kept.
                 */
                attempts_total?: number | null;
                /**
                 * Format: int32
                 * @description How often a worker died while it ran this job.
                 */
                crashes: number;
                /** Format: date-time */
                created_at: string;
                /** @description Why the latest try did not complete. */
                error?: string | null;
                /** Format: date-time */
                finished_at?: string | null;
                /** @description What keeps it from running, as far as the server can tell. Only when one job is read or submitted. */
                hints?: components["schemas"]["HintDocument"][];
                id: string;
                /** Format: int32 */
                max_attempts: number;
                priority: components["schemas"]["Lane"];
                queue: string;
                /** Format: date-time */
                run_at: string;
                /** @description The schedule whose tick made it. */
                schedule?: string | null;
                /**
                 * Format: date-time
                 * @description The instant that tick belongs to.
                 */
                scheduled_for?: string | null;
                /**
                 * Format: int32
                 * @description How often it has moved, from 1: `sequence` of its latest event on the stream.
                 */
                sequence?: number;
                /**
                 * Format: int32
                 * @description Tries that count against `max_attempts`; interrupted ones are given back.
                 */
                spent: number;
                /** Format: date-time */
                started_at?: string | null;
                state: components["schemas"]["State"];
            })[];
            next?: string | null;
        };
        /** @description A page of anything: `next` is handed back unchanged to get the following one, and `null` on the last. */
        ListDocument_KeyDocument: {
            items: {
                /** Format: date-time */
                created_at: string;
                /** Format: date-time */
                expires_at?: string | null;
                /** @description The part of the key between its underscores. */
                id: string;
                /**
                 * Format: date-time
                 * @description To the minute or so; `null` when it never was.
                 */
                last_used_at?: string | null;
                name: string;
                /** @description The key that was made to take its place. */
                replaced_by?: string | null;
                /** Format: date-time */
                revoked_at?: string | null;
                scopes: components["schemas"]["Scope"][];
                state: components["schemas"]["KeyState"];
                tenant: string;
            }[];
            next?: string | null;
        };
        /** @description A page of anything: `next` is handed back unchanged to get the following one, and `null` on the last. */
        ListDocument_QueueDocument: {
            items: {
                name: string;
                /** @description How long the oldest due job has been waiting. */
                oldest_age?: string | null;
                paused: boolean;
                /** Format: int64 */
                pending: number;
                /**
                 * Format: double
                 * @description Jobs that reached a final state, per second, over the last minute.
                 */
                rate: number;
                /** Format: int64 */
                retrying: number;
                /** Format: int64 */
                running: number;
                /** Format: int64 */
                scheduled: number;
            }[];
            next?: string | null;
        };
        /** @description A page of anything: `next` is handed back unchanged to get the following one, and `null` on the last. */
        ListDocument_QueueStatisticsDocument: {
            items: (components["schemas"]["TallyDocument"] & {
                queue: string;
            })[];
            next?: string | null;
        };
        /** @description A page of anything: `next` is handed back unchanged to get the following one, and `null` on the last. */
        ListDocument_ScheduleDocument: {
            items: {
                /** Format: date-time */
                at?: string | null;
                /** Format: date-time */
                created_at: string;
                /** @example 0 9 * * * */
                cron?: string | null;
                /**
                 * @description When it fires, in words.
                 * @example At 09:00, in Europe/Berlin
                 */
                description: string;
                dst_gap?: components["schemas"]["DstGap"] | null;
                dst_overlap?: components["schemas"]["DstOverlap"] | null;
                /** Format: date-time */
                end_at?: string | null;
                /** @example 90s */
                every?: string | null;
                /**
                 * Format: date-time
                 * @description The tick that waits for a job of an earlier one to be final.
                 */
                held_for?: string | null;
                id: string;
                /** @example 30s */
                jitter?: string | null;
                job: components["schemas"]["JobSpec"];
                last_tick?: components["schemas"]["TickDocument"] | null;
                missed?: components["schemas"]["Missed"] | null;
                /** Format: int32 */
                missed_max?: number | null;
                name: string;
                /**
                 * Format: date-time
                 * @description The next tick; `null` while it is paused, and when it is finished.
                 */
                next_fire_at?: string | null;
                overlap?: components["schemas"]["Overlap"] | null;
                paused?: boolean | null;
                /** Format: date-time */
                start_at?: string | null;
                state: components["schemas"]["ScheduleState"];
                /** @example Europe/Berlin */
                timezone?: string | null;
                /** Format: date-time */
                updated_at: string;
                /**
                 * Format: int64
                 * @description Rises with every edit; the `ETag` begins with it.
                 */
                version: number;
            }[];
            next?: string | null;
        };
        /** @description A page of anything: `next` is handed back unchanged to get the following one, and `null` on the last. */
        ListDocument_TenantDocument: {
            items: {
                /** @description What its jobs may run: absolute paths, `sh` for lines given to a shell, `*` for everything. */
                commands: string[];
                /** Format: date-time */
                created_at: string;
                /** @description Stopped: its keys are refused, and nothing of it is claimed, fired or delivered until it is enabled again. What waits is kept. */
                disabled: boolean;
                id: string;
                /** @description Where it differs from the limits of every tenant: a number, or `unlimited`. */
                limits: {
                    [key: string]: components["schemas"]["LimitDocument"];
                };
                /** @description The limits in force. */
                limits_in_force: {
                    [key: string]: components["schemas"]["LimitDocument"];
                };
                /** @description Whether its pushes and callbacks are signed. */
                signs: boolean;
                /** Format: date-time */
                updated_at: string;
                /** @description Variables that its jobs may give these programs: names, beginnings such as `REPORT_*`, or `*`. Where `commands` has `sh` or `*`, all may be given. */
                variables?: string[];
                /**
                 * Format: int64
                 * @description Rises with every edit; the `ETag` is this number in quotes.
                 */
                version: number;
                /**
                 * Format: int32
                 * @description Its share where several wait in one queue and lane.
                 */
                weight: number;
            }[];
            next?: string | null;
        };
        /** @description A page of anything: `next` is handed back unchanged to get the following one, and `null` on the last. */
        ListDocument_TickDocument: {
            items: {
                /**
                 * Format: date-time
                 * @description When that was decided.
                 */
                at: string;
                /**
                 * Format: int32
                 * @description How many it stands for; `null`: more than were counted.
                 */
                count?: number | null;
                /** @description The job it made. */
                job?: string | null;
                job_state?: components["schemas"]["State"] | null;
                /**
                 * Format: date-time
                 * @description The last of a run of missed ones.
                 */
                last?: string | null;
                /**
                 * Format: date-time
                 * @description The instant it belongs to.
                 */
                nominal: string;
                reason?: components["schemas"]["TickReason"] | null;
                state: components["schemas"]["TickState"];
            }[];
            next?: string | null;
        };
        /** @description A page of anything: `next` is handed back unchanged to get the following one, and `null` on the last. */
        ListDocument_WebhookDocument: {
            items: {
                /** Format: date-time */
                created_at: string;
                description: string;
                disabled?: components["schemas"]["Disabled"] | null;
                enabled: boolean;
                /**
                 * @example [
                 *       "job.completed",
                 *       "job.dead"
                 *     ]
                 */
                events: string[];
                /**
                 * Format: date-time
                 * @description Since when every delivery has failed; `null` while they arrive.
                 */
                failing_since?: string | null;
                id: string;
                /**
                 * @description Shown once: when it was made, and when it was changed for another.
                 * @example whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD
                 */
                secret?: string | null;
                /** @description How many secrets sign right now: two while one takes over from another. */
                secrets: number;
                /** Format: date-time */
                updated_at: string;
                url: string;
                /**
                 * Format: int64
                 * @description Rises with every change; the `ETag` is this number.
                 */
                version: number;
            }[];
            next?: string | null;
        };
        /** @description A page of anything: `next` is handed back unchanged to get the following one, and `null` on the last. */
        ListDocument_WorkerDocument: {
            items: {
                /** Format: date-time */
                heartbeat_at: string;
                /** @description The session: one life of the worker process. */
                id: string;
                /** Format: int32 */
                pid: number;
                /** @description Empty: all queues. */
                queues: string[];
                /** Format: int64 */
                running: number;
                /** Format: int32 */
                slots: number;
                /** Format: date-time */
                started_at: string;
                state: components["schemas"]["SessionState"];
                /** @description The tasks it has handlers for; `null` where it is of a version that does not say. */
                tasks?: string[] | null;
                version: string;
                worker: string;
            }[];
            next?: string | null;
        };
        /** @description A key that was just made. This is the one moment in which it is shown. */
        MadeKeyDocument: components["schemas"]["KeyDocument"] & {
            /** @description All of it, as it goes into `Authorization: Bearer …`. */
            key: string;
            replaces?: components["schemas"]["KeyDocument"] | null;
        };
        /**
         * @description What becomes of ticks that nobody fired in time: the scheduler was away, or the clock was put forward.
         * @enum {string}
         */
        Missed: "skip" | "latest" | "all";
        /** @description One mistake, and where it stands. */
        Mistake: {
            detail: string;
            /** @description A JSON pointer, such as `/url`. */
            pointer: string;
        };
        /** @description A key to be made. */
        NewKeyDocument: {
            /**
             * Format: date-time
             * @description From this moment on it opens nothing.
             */
            expires_at?: string | null;
            /**
             * @description The same, counted from now.
             * @example 720h
             */
            expires_in?: string | null;
            /** @description For people; up to 100 characters. */
            name?: string | null;
            /**
             * @description At least one; `jobs:*` and `schedules:*` mean both of theirs.
             * @example [
             *       "jobs:read",
             *       "jobs:write"
             *     ]
             */
            scopes: string[];
        };
        /** @description A tenant to be made. */
        NewTenantDocument: {
            commands?: string[] | null;
            /** @description Its keys are refused, and nothing of it is claimed, fired or delivered. */
            disabled?: boolean | null;
            /** @description 1 to 63 of a-z, 0-9 and the hyphen, with a letter or digit first and last. It is never used again. */
            id: string;
            limits?: {
                [key: string]: components["schemas"]["LimitDocument"];
            } | null;
            variables?: string[] | null;
            /** Format: int32 */
            weight?: number | null;
        };
        OldestWaitingDocument: {
            /** @example 3m12s */
            age: string;
            queue: string;
        };
        OutputChunk: {
            /** Format: int64 */
            first_line: number;
            lines: components["schemas"]["OutputLine"][];
            /**
             * Format: int64
             * @description Ask again with this.
             */
            next_line: number;
        };
        OutputLine: {
            stream: components["schemas"]["OutputStream"];
            text: string;
        };
        /** @enum {string} */
        OutputStream: "stdout" | "stderr";
        /**
         * @description What a tick does while a job of the same schedule is not final.
         * @enum {string}
         */
        Overlap: "allow" | "skip" | "queue" | "cancel";
        OverviewDocument: {
            /** Format: date-time */
            at: string;
            attention: components["schemas"]["AttentionDocument"][];
            oldest_waiting?: components["schemas"]["OldestWaitingDocument"] | null;
            /**
             * Format: int64
             * @description How many queues there are.
             */
            queues: number;
            /** @description Jobs by state. */
            states: {
                [key: string]: components["schemas"]["CountDocument"];
            };
            workers?: components["schemas"]["WorkersDocument"] | null;
        };
        PauseAnswer: {
            /** @description `false` when it was so already. */
            changed: boolean;
            name: string;
            paused: boolean;
        };
        /** @description What a schedule will do. */
        PreviewDocument: {
            /**
             * @description When it fires, in words.
             * @example At 09:00, in Europe/Berlin
             */
            description: string;
            items: components["schemas"]["PreviewItem"][];
        };
        /** @description One fire, for a person to look at. */
        PreviewItem: {
            /** Format: date-time */
            at: string;
            /**
             * @description The same instant on the clocks of the schedule's zone, with their offset.
             * @example 2026-03-29T03:00:00+02:00
             */
            local: string;
            /**
             * @description What a change of the clocks did to it.
             * @example 02:30 does not exist on 2026-03-29: moved to 03:00
             */
            note?: string | null;
        };
        /** @description RFC 9457. `type` is a path on this server that explains it. */
        ProblemDocument: {
            detail: string;
            /** @description Each mistake, where the request had several. */
            errors?: components["schemas"]["Mistake"][];
            /** @description The request's id, as in `X-Request-ID` and in the logs. */
            instance?: string | null;
            scope?: components["schemas"]["Scope"] | null;
            state?: components["schemas"]["State"] | null;
            /** Format: int32 */
            status: number;
            title: string;
            type: string;
            /**
             * Format: int64
             * @description The version that the schedule, or whatever it is, has, where another was expected.
             */
            version?: number | null;
        };
        QueueDocument: {
            name: string;
            /** @description How long the oldest due job has been waiting. */
            oldest_age?: string | null;
            paused: boolean;
            /** Format: int64 */
            pending: number;
            /**
             * Format: double
             * @description Jobs that reached a final state, per second, over the last minute.
             */
            rate: number;
            /** Format: int64 */
            retrying: number;
            /** Format: int64 */
            running: number;
            /** Format: int64 */
            scheduled: number;
        };
        /** @description `event: queue`. A queue was paused or resumed. */
        QueueEvent: {
            /** Format: date-time */
            at: string;
            name: string;
            paused: boolean;
        };
        QueueStatisticsDocument: components["schemas"]["TallyDocument"] & {
            queue: string;
        };
        Ready: {
            checks: components["schemas"]["Check"][];
            ready: boolean;
        };
        /** @description `event: reset`. The place that was asked for cannot be resumed; the stream goes on from now. */
        ResetEvent: {
            /** Format: date-time */
            at: string;
            /** @description What to do. */
            detail: string;
            reason: components["schemas"]["ResetReason"];
        };
        /** @enum {string} */
        ResetReason: "expired" | "unknown";
        /** @description How a key is replaced. */
        RotateKeyDocument: {
            /**
             * Format: date-time
             * @description Of the new one. Without either, it lives as long as the old one was to live when it was made.
             */
            expires_at?: string | null;
            /** @example 720h */
            expires_in?: string | null;
            /**
             * @description How long the old one goes on, at most `720h`. Without it, `24h`.
             * @example 24h
             */
            grace?: string | null;
        };
        /** @description How a signing secret is changed for another. */
        RotateSecretDocument: {
            /**
             * @description How long the old one signs too, at most `720h`. Without it, `24h`.
             * @example 24h
             */
            overlap?: string | null;
        };
        /** @description A schedule: what was written, flat, and where it stands. */
        ScheduleDocument: {
            /** Format: date-time */
            at?: string | null;
            /** Format: date-time */
            created_at: string;
            /** @example 0 9 * * * */
            cron?: string | null;
            /**
             * @description When it fires, in words.
             * @example At 09:00, in Europe/Berlin
             */
            description: string;
            dst_gap?: components["schemas"]["DstGap"] | null;
            dst_overlap?: components["schemas"]["DstOverlap"] | null;
            /** Format: date-time */
            end_at?: string | null;
            /** @example 90s */
            every?: string | null;
            /**
             * Format: date-time
             * @description The tick that waits for a job of an earlier one to be final.
             */
            held_for?: string | null;
            id: string;
            /** @example 30s */
            jitter?: string | null;
            job: components["schemas"]["JobSpec"];
            last_tick?: components["schemas"]["TickDocument"] | null;
            missed?: components["schemas"]["Missed"] | null;
            /** Format: int32 */
            missed_max?: number | null;
            name: string;
            /**
             * Format: date-time
             * @description The next tick; `null` while it is paused, and when it is finished.
             */
            next_fire_at?: string | null;
            overlap?: components["schemas"]["Overlap"] | null;
            paused?: boolean | null;
            /** Format: date-time */
            start_at?: string | null;
            state: components["schemas"]["ScheduleState"];
            /** @example Europe/Berlin */
            timezone?: string | null;
            /** Format: date-time */
            updated_at: string;
            /**
             * Format: int64
             * @description Rises with every edit; the `ETag` begins with it.
             */
            version: number;
        };
        /** @description `event: schedule`. A schedule ticked, or was made, changed or removed. */
        ScheduleEvent: {
            /** Format: date-time */
            at: string;
            id: string;
            /** @description The job that the tick made. */
            job?: string | null;
            name: string;
            /**
             * Format: date-time
             * @description The instant the tick belongs to.
             */
            scheduled_for?: string | null;
            tick?: components["schemas"]["TickState"] | null;
            what: components["schemas"]["ScheduleWhat"];
        };
        /** @description Any of the fields of a schedule: for a preview of one that is not complete, and for a patch, where `null` removes. */
        ScheduleFields: {
            /** Format: date-time */
            at?: string | null;
            /** @example 0 9 * * * */
            cron?: string | null;
            dst_gap?: components["schemas"]["DstGap"] | null;
            dst_overlap?: components["schemas"]["DstOverlap"] | null;
            /** Format: date-time */
            end_at?: string | null;
            /** @example 90s */
            every?: string | null;
            /** @example 30s */
            jitter?: string | null;
            job?: components["schemas"]["JobSpec"] | null;
            missed?: components["schemas"]["Missed"] | null;
            /** Format: int32 */
            missed_max?: number | null;
            name?: string | null;
            overlap?: components["schemas"]["Overlap"] | null;
            paused?: boolean | null;
            /** Format: date-time */
            start_at?: string | null;
            /** @example Europe/Berlin */
            timezone?: string | null;
        };
        /** @description The fields of a schedule. Exactly one of `cron`, `every` and `at` says when; `job` says what. */
        ScheduleSpec: {
            /**
             * Format: date-time
             * @description Once, at this time.
             */
            at?: string | null;
            /**
             * @description Five fields, or six with seconds first; `@daily` and the like; `@every 90s`; `TZ=Europe/Berlin 0 9 * * *`.
             * @example 0 9 * * MON-FRI
             */
            cron?: string | null;
            dst_gap?: components["schemas"]["DstGap"] | null;
            dst_overlap?: components["schemas"]["DstOverlap"] | null;
            /**
             * Format: date-time
             * @description No tick after this time.
             */
            end_at?: string | null;
            /**
             * @description So much real time apart, counted from `start_at`, or from when it was made.
             * @example 90s
             */
            every?: string | null;
            /**
             * @description Each job starts up to so much later than its tick, always the same for the same tick.
             * @example 30s
             */
            jitter?: string | null;
            /** @description The fields of the job that every tick makes, without `run_at`, `delay`, `expires_at` and `idempotency_key`. */
            job: components["schemas"]["JobSpec"];
            missed?: components["schemas"]["Missed"] | null;
            /**
             * Format: int32
             * @description How many at most fire with `missed` = `all`: 1 to 1000, 100 when it is left out.
             */
            missed_max?: number | null;
            /** @description Letters, digits, `.`, `_`, `-`, up to 128. It cannot be changed. */
            name: string;
            overlap?: components["schemas"]["Overlap"] | null;
            /** @description Nothing fires while it is paused, and nothing is made up for it afterwards. */
            paused?: boolean | null;
            /**
             * Format: date-time
             * @description No tick before this time.
             */
            start_at?: string | null;
            /**
             * @description An IANA zone for `cron`; UTC when it is left out.
             * @example Europe/Berlin
             */
            timezone?: string | null;
        };
        /** @enum {string} */
        ScheduleState: "active" | "paused" | "finished";
        /** @enum {string} */
        ScheduleWhat: "tick" | "created" | "updated" | "paused" | "resumed" | "deleted";
        /** @enum {string} */
        Scope: "jobs:read" | "jobs:write" | "schedules:read" | "schedules:write" | "stream:read" | "workers" | "exec:command" | "admin";
        /** @description A signing secret that was just made. This is the one moment in which it is shown. */
        SecretDocument: {
            /** @description `whsec_…`, for receivers of callbacks: signs those and nothing else. Derived from `secret`. */
            callback_secret?: string | null;
            /** @description `whsec_…`, for targets: signs pushes and nothing else. Derived from `secret`. */
            push_secret?: string | null;
            /** @description `whsec_…`. Signs pushes and callbacks alike, until version 1.0: for receivers that verify with it already. */
            secret: string;
        };
        /** @enum {string} */
        SessionState: "live" | "draining" | "ended" | "dead";
        /** @description The key that a person signs in with. */
        SignInDocument: {
            /** @description `fm_…`, or the key of the configuration. */
            key: string;
        };
        /**
         * @description How long one bucket is.
         * @enum {string}
         */
        Slot: "minute" | "hour";
        /** @description `event: snapshot`. The jobs as they stand have been told; from here on comes what changes. */
        SnapshotEvent: {
            /** Format: date-time */
            at: string;
            /** @description `false`: there are older ones that were not. */
            complete: boolean;
            /**
             * Format: int64
             * @description How many were told.
             */
            jobs: number;
        };
        /** @description How durations were spread. The quantiles are about right: they are told from classes. */
        SpreadDocument: {
            /** Format: int64 */
            count: number;
            /** Format: double */
            max_ms: number;
            /** Format: double */
            mean_ms: number;
            /** Format: double */
            p50_ms: number;
            /** Format: double */
            p95_ms: number;
        };
        /** @enum {string} */
        State: "scheduled" | "pending" | "running" | "retrying" | "completed" | "failed" | "dead" | "cancelled";
        StatisticsDocument: {
            /** Format: date-time */
            from: string;
            /** @description Oldest first; a time without anything is left out, and queues are as deep in it as in the one before. */
            items: components["schemas"]["BucketDocument"][];
            step: components["schemas"]["Slot"];
            /** Format: date-time */
            to: string;
        };
        /** @description The `data:` of an event; which it is says its `event:`. */
        StreamEvent: components["schemas"]["JobEvent"] | components["schemas"]["ScheduleEvent"] | components["schemas"]["WorkerEvent"] | components["schemas"]["QueueEvent"] | components["schemas"]["SnapshotEvent"] | components["schemas"]["HeartbeatEvent"] | components["schemas"]["ResetEvent"];
        TallyDocument: {
            /** Format: int64 */
            cancelled: number;
            /** Format: int64 */
            completed: number;
            /** Format: int64 */
            dead: number;
            /** Format: int64 */
            failed: number;
            /**
             * Format: int64
             * @description Attempts that ended without ending their job.
             */
            retried: number;
            run?: components["schemas"]["SpreadDocument"] | null;
            /**
             * Format: int64
             * @description The most that were seen running.
             */
            running?: number | null;
            /**
             * Format: int64
             * @description Attempts begun.
             */
            started: number;
            /** Format: int64 */
            submitted: number;
            wait?: components["schemas"]["SpreadDocument"] | null;
            /**
             * Format: int64
             * @description The most that were seen waiting; looked at once a minute, and the same as before where nothing changed.
             */
            waiting?: number | null;
        };
        /** @description A tenant: what an administrator said about it, and what that comes to. */
        TenantDocument: {
            /** @description What its jobs may run: absolute paths, `sh` for lines given to a shell, `*` for everything. */
            commands: string[];
            /** Format: date-time */
            created_at: string;
            /** @description Stopped: its keys are refused, and nothing of it is claimed, fired or delivered until it is enabled again. What waits is kept. */
            disabled: boolean;
            id: string;
            /** @description Where it differs from the limits of every tenant: a number, or `unlimited`. */
            limits: {
                [key: string]: components["schemas"]["LimitDocument"];
            };
            /** @description The limits in force. */
            limits_in_force: {
                [key: string]: components["schemas"]["LimitDocument"];
            };
            /** @description Whether its pushes and callbacks are signed. */
            signs: boolean;
            /** Format: date-time */
            updated_at: string;
            /** @description Variables that its jobs may give these programs: names, beginnings such as `REPORT_*`, or `*`. Where `commands` has `sh` or `*`, all may be given. */
            variables?: string[];
            /**
             * Format: int64
             * @description Rises with every edit; the `ETag` is this number in quotes.
             */
            version: number;
            /**
             * Format: int32
             * @description Its share where several wait in one queue and lane.
             */
            weight: number;
        };
        /** @description What of a tenant changes: a JSON merge patch. `null` sets back to the default, and so inside `limits`. */
        TenantPatchDocument: {
            commands?: string[] | null;
            /**
             * @description `true` stops the tenant: at once nothing of it is claimed, fired or delivered; within five seconds its keys are refused and its
             *     running attempts are stopped, unspent. `false` lets it go on.
             */
            disabled?: boolean | null;
            limits?: {
                [key: string]: components["schemas"]["LimitDocument"];
            } | null;
            variables?: string[] | null;
            /** Format: int32 */
            weight?: number | null;
        };
        /** @description What became of a tick, or of a run of missed ones. */
        TickDocument: {
            /**
             * Format: date-time
             * @description When that was decided.
             */
            at: string;
            /**
             * Format: int32
             * @description How many it stands for; `null`: more than were counted.
             */
            count?: number | null;
            /** @description The job it made. */
            job?: string | null;
            job_state?: components["schemas"]["State"] | null;
            /**
             * Format: date-time
             * @description The last of a run of missed ones.
             */
            last?: string | null;
            /**
             * Format: date-time
             * @description The instant it belongs to.
             */
            nominal: string;
            reason?: components["schemas"]["TickReason"] | null;
            state: components["schemas"]["TickState"];
        };
        /** @enum {string} */
        TickReason: "by_hand" | "missed" | "overlap" | "deleted" | "too_many_waiting";
        /** @enum {string} */
        TickState: "fired" | "held" | "skipped";
        /** @description Opens the stream once, in a URL, where no header can be sent. */
        TicketDocument: {
            /** Format: date-time */
            expires_at: string;
            ticket: string;
        };
        /** @enum {string} */
        Unlimited: "unlimited";
        /** @description An endpoint. Its secret stands only in the answer that made it. */
        WebhookDocument: {
            /** Format: date-time */
            created_at: string;
            description: string;
            disabled?: components["schemas"]["Disabled"] | null;
            enabled: boolean;
            /**
             * @example [
             *       "job.completed",
             *       "job.dead"
             *     ]
             */
            events: string[];
            /**
             * Format: date-time
             * @description Since when every delivery has failed; `null` while they arrive.
             */
            failing_since?: string | null;
            id: string;
            /**
             * @description Shown once: when it was made, and when it was changed for another.
             * @example whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD
             */
            secret?: string | null;
            /** @description How many secrets sign right now: two while one takes over from another. */
            secrets: number;
            /** Format: date-time */
            updated_at: string;
            url: string;
            /**
             * Format: int64
             * @description Rises with every change; the `ETag` is this number.
             */
            version: number;
        };
        /** @description What of an endpoint is changed; the rest stays. */
        WebhookPatch: {
            description?: string | null;
            /** @description `true` also begins anew after the endpoint was disabled for its failures. */
            enabled?: boolean | null;
            events?: string[] | null;
            url?: string | null;
        };
        /** @description What an endpoint is made of. */
        WebhookSpec: {
            description?: string | null;
            /** @description Whether it is sent anything; it is, unless this says otherwise. */
            enabled?: boolean | null;
            /**
             * @description Which: names such as `job.completed`, or `job.*`, or `*`.
             * @example [
             *       "job.completed",
             *       "job.dead"
             *     ]
             */
            events: string[];
            /** @description Where messages are sent. */
            url: string;
        };
        /** @description Who the server takes the asker for. */
        WhoamiDocument: {
            /** Format: date-time */
            expires_at?: string | null;
            /** @description The id of its key; `bootstrap` for the one of the configuration, `null` where none is asked for. */
            key?: string | null;
            /** @description The tenant's limits in force. */
            limits: {
                [key: string]: components["schemas"]["LimitDocument"];
            };
            scopes: components["schemas"]["Scope"][];
            /** @description Whose data its requests are about. */
            tenant: string;
        };
        WorkerDocument: {
            /** Format: date-time */
            heartbeat_at: string;
            /** @description The session: one life of the worker process. */
            id: string;
            /** Format: int32 */
            pid: number;
            /** @description Empty: all queues. */
            queues: string[];
            /** Format: int64 */
            running: number;
            /** Format: int32 */
            slots: number;
            /** Format: date-time */
            started_at: string;
            state: components["schemas"]["SessionState"];
            /** @description The tasks it has handlers for; `null` where it is of a version that does not say. */
            tasks?: string[] | null;
            version: string;
            worker: string;
        };
        /** @description `event: worker`. A worker came, drains, went or died. */
        WorkerEvent: {
            /** Format: date-time */
            at: string;
            /** @description The session. */
            id: string;
            state: components["schemas"]["SessionState"];
            worker: string;
        };
        WorkersDocument: {
            /**
             * Format: int64
             * @description Lapsed lately.
             */
            dead: number;
            /** Format: int64 */
            draining: number;
            /** Format: int64 */
            live: number;
            /** Format: int64 */
            running: number;
            /**
             * Format: int64
             * @description Of those alive.
             */
            slots: number;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    list_audit: {
        parameters: {
            query?: {
                /** @description Only acts on this tenant's objects; also of one that was deleted since. */
                tenant?: string;
                /** @description How many per page. */
                limit?: number;
                /** @description `next` of the page before, unchanged. */
                cursor?: string;
            };
            header?: {
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListDocument_AuditDocument"];
                };
            };
            /** @description A parameter that does not exist or does not fit */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The key has not the scope, or names a tenant that is not its own */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description There is no such thing, or it is another tenant's; or no tenant has the name in `Foreman-Tenant` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too much was asked for in too short a time, or too many wrong keys came from this address */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    list_dead_jobs: {
        parameters: {
            query?: {
                /** @description Only jobs of this queue. */
                queue?: string;
                /** @description Only jobs of this kind. */
                kind?: string;
                /** @description Only jobs with this tag. */
                tag?: string;
                /** @description Only jobs with this correlation id. */
                correlation_id?: string;
                /** @description Only final jobs that ended with an error of this group: `group` of the list of groups. */
                error_group?: string;
                /** @description Only jobs submitted after this time. */
                created_after?: string;
                /** @description Only jobs submitted before this time. */
                created_before?: string;
                /** @description Jobs per page. */
                limit?: number;
                /** @description `next` of the page before, unchanged. */
                cursor?: string;
            };
            header?: {
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListDocument_JobDocument"];
                };
            };
            /** @description The request is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The key has not the scope, or names a tenant that is not its own */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description There is no such thing, or it is another tenant's; or no tenant has the name in `Foreman-Tenant` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too much was asked for in too short a time, or too many wrong keys came from this address */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    list_dead_groups: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The groups */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FailureGroupsDocument"];
                };
            };
            /** @description The request is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The key has not the scope, or names a tenant that is not its own */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description There is no such thing, or it is another tenant's; or no tenant has the name in `Foreman-Tenant` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too much was asked for in too short a time, or too many wrong keys came from this address */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    list_error_groups: {
        parameters: {
            query?: {
                /** @description Only jobs in this state: `failed` or `dead`. Both without it. */
                state?: components["schemas"]["State"];
            };
            header?: {
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The groups */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FailureGroupsDocument"];
                };
            };
            /** @description A parameter that does not exist or does not fit */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The key has not the scope, or names a tenant that is not its own */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description There is no such thing, or it is another tenant's; or no tenant has the name in `Foreman-Tenant` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too much was asked for in too short a time, or too many wrong keys came from this address */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    list_jobs: {
        parameters: {
            query?: {
                /** @description Only jobs in this state. */
                state?: components["schemas"]["State"];
                /** @description Only jobs of this queue. */
                queue?: string;
                /** @description Only jobs of this kind. */
                kind?: string;
                /** @description Only jobs with this tag. */
                tag?: string;
                /** @description Only jobs with this correlation id. */
                correlation_id?: string;
                /** @description Only final jobs that ended with an error of this group: `group` of the list of groups. */
                error_group?: string;
                /** @description Only jobs submitted after this time. */
                created_after?: string;
                /** @description Only jobs submitted before this time. */
                created_before?: string;
                /** @description Jobs per page. */
                limit?: number;
                /** @description `next` of the page before, unchanged. */
                cursor?: string;
                /**
                 * @description `payload`: also what was submitted with each job, as a job document shows it. The page then has at most 100 jobs, and ends early after
                 *     1 MiB; `next` continues it.
                 */
                fields?: "payload";
            };
            header?: {
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListDocument_JobDocument"];
                };
            };
            /** @description A parameter that does not exist or does not fit */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The key has not the scope, or names a tenant that is not its own */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description There is no such thing, or it is another tenant's; or no tenant has the name in `Foreman-Tenant` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too much was asked for in too short a time, or too many wrong keys came from this address */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    submit_job: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request safe to repeat; 1 to 255 characters */
                "Idempotency-Key"?: string | null;
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["JobSpec"];
            };
        };
        responses: {
            /** @description The first job under this idempotency key */
            200: {
                headers: {
                    /** @description `true` */
                    "Idempotency-Replayed"?: string;
                    /** @description Where the job is read */
                    Location?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobDocument"];
                };
            };
            /** @description Accepted */
            202: {
                headers: {
                    /** @description Where the job is read */
                    Location?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobDocument"];
                };
            };
            /** @description The request is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description A command, where commands are not allowed, or the key has not the scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description There is no such thing, or it is another tenant's; or no tenant has the name in `Foreman-Tenant` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The body is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The body is not sent as JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not a valid job, or the key stands for another one */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description More than the tenant may submit; `Retry-After` says when to come again */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Nothing was accepted: overloaded, stopping, or the store is away */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    submit_batch: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BatchRequest"];
            };
        };
        responses: {
            /** @description What became of each job */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BatchAnswer"];
                };
            };
            /** @description Not a batch, or an empty one */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The key has not the scope, or names a tenant that is not its own */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description There is no such thing, or it is another tenant's; or no tenant has the name in `Foreman-Tenant` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too many jobs, or too many bytes */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The body is not sent as JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description What is asked for cannot be */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description More than the tenant may submit; `Retry-After` says when to come again */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Nothing was accepted: overloaded, stopping, or the store is away */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    cancel_jobs: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BulkRequest"];
            };
        };
        responses: {
            /** @description How many */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BulkAnswer"];
                };
            };
            /** @description Not a filter, or one that cannot be meant */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The key has not the scope, or names a tenant that is not its own */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description There is no such thing, or it is another tenant's; or no tenant has the name in `Foreman-Tenant` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The body is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The body is not sent as JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description What is asked for cannot be */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too much was asked for in too short a time, or too many wrong keys came from this address */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    delete_jobs: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BulkRequest"];
            };
        };
        responses: {
            /** @description How many */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BulkAnswer"];
                };
            };
            /** @description Not a filter, or one that cannot be meant */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The key has not the scope, or names a tenant that is not its own */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description There is no such thing, or it is another tenant's; or no tenant has the name in `Foreman-Tenant` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The body is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The body is not sent as JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description What is asked for cannot be */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too much was asked for in too short a time, or too many wrong keys came from this address */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    retry_jobs: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BulkRequest"];
            };
        };
        responses: {
            /** @description How many */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BulkAnswer"];
                };
            };
            /** @description Not a filter, or one that cannot be meant */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The key has not the scope, or names a tenant that is not its own */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description There is no such thing, or it is another tenant's; or no tenant has the name in `Foreman-Tenant` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The body is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The body is not sent as JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description What is asked for cannot be */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description More than the tenant may submit; `detail` says how many were run again, `Retry-After` when to go on */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    get_job: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path: {
                /** @description The job's id */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The job */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobDocument"];
                };
            };
            /** @description The request is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The key has not the scope, or names a tenant that is not its own */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No such job */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too much was asked for in too short a time, or too many wrong keys came from this address */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    delete_job: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path: {
                /** @description The job's id */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is gone */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The key has not the scope, or names a tenant that is not its own */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No such job */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description It has not ended; `state` says where it stands */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too much was asked for in too short a time, or too many wrong keys came from this address */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    list_attempts: {
        parameters: {
            query?: {
                /** @description `attempts_next` of the job, or `next` of the page before, unchanged. */
                cursor?: string;
            };
            header?: {
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path: {
                /** @description The job's id */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListDocument_AttemptDocument"];
                };
            };
            /** @description The request is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The key has not the scope, or names a tenant that is not its own */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No such job */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too much was asked for in too short a time, or too many wrong keys came from this address */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    cancel_job: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path: {
                /** @description The job's id */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The cancelled job */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobDocument"];
                };
            };
            /** @description The request is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The key has not the scope, or names a tenant that is not its own */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No such job */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description It has already ended; `state` says how */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too much was asked for in too short a time, or too many wrong keys came from this address */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    read_output: {
        parameters: {
            query?: {
                /** @description From this line on; `next_line` of the answer before. */
                after?: number;
            };
            header?: {
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path: {
                /** @description The job's id */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Lines, and where to go on */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OutputChunk"];
                };
            };
            /** @description The request is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The key has not the scope, or names a tenant that is not its own */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No such job, or nothing of it runs here */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too much was asked for in too short a time, or too many wrong keys came from this address */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    retry_job: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path: {
                /** @description The job's id */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The job, waiting again */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobDocument"];
                };
            };
            /** @description The request is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description A command, where commands are not allowed, or the key lacks `exec:command` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No such job */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description It has not ended; `state` says where it stands */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description More than the tenant may submit; `Retry-After` says when to come again */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    wait_for_job: {
        parameters: {
            query?: {
                /**
                 * @description How long to wait, at most `5m`. Without it, `30s`.
                 * @example 30s
                 */
                timeout?: string;
            };
            header?: {
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path: {
                /** @description The job's id */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The job, final or, at the timeout, as it is */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobDocument"];
                };
            };
            /** @description The request is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The key has not the scope, or names a tenant that is not its own */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No such job */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description As many requests of the tenant wait as may; `Retry-After` says when to come again */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    get_overview: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The overview */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OverviewDocument"];
                };
            };
            /** @description The request is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The key has not the scope, or names a tenant that is not its own */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description There is no such thing, or it is another tenant's; or no tenant has the name in `Foreman-Tenant` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too much was asked for in too short a time, or too many wrong keys came from this address */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    list_queues: {
        parameters: {
            query?: {
                /** @description Only this queue. Names one of Foreman's own too: `foreman.webhooks` has the deliveries of webhooks. */
                queue?: string;
            };
            header?: {
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All queues */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListDocument_QueueDocument"];
                };
            };
            /** @description A parameter that does not exist or does not fit */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The key has not the scope, or names a tenant that is not its own */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description There is no such thing, or it is another tenant's; or no tenant has the name in `Foreman-Tenant` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too much was asked for in too short a time, or too many wrong keys came from this address */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    pause_queue: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path: {
                /** @description The queue's name */
                queue: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is paused */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PauseAnswer"];
                };
            };
            /** @description Not a queue's name */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The key has not the scope, or names a tenant that is not its own */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description There is no such thing, or it is another tenant's; or no tenant has the name in `Foreman-Tenant` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too much was asked for in too short a time, or too many wrong keys came from this address */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    resume_queue: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path: {
                /** @description The queue's name */
                queue: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is not paused */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PauseAnswer"];
                };
            };
            /** @description Not a queue's name */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The key has not the scope, or names a tenant that is not its own */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description There is no such thing, or it is another tenant's; or no tenant has the name in `Foreman-Tenant` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too much was asked for in too short a time, or too many wrong keys came from this address */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    list_schedules: {
        parameters: {
            query?: {
                /** @description How many per page. */
                limit?: number;
                /** @description `next` of the page before, unchanged. */
                cursor?: string;
            };
            header?: {
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListDocument_ScheduleDocument"];
                };
            };
            /** @description A parameter that does not exist or does not fit */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The key has not the scope, or names a tenant that is not its own */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description There is no such thing, or it is another tenant's; or no tenant has the name in `Foreman-Tenant` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too much was asked for in too short a time, or too many wrong keys came from this address */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    create_schedule: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "cron": "0 9 * * *",
                 *       "job": {
                 *         "url": "http://127.0.0.1:8080/dev/echo"
                 *       },
                 *       "name": "daily-report",
                 *       "timezone": "Europe/Berlin"
                 *     }
                 */
                "application/json": components["schemas"]["ScheduleSpec"];
            };
        };
        responses: {
            /** @description Made */
            201: {
                headers: {
                    /** @description Its version and a part of its id, in quotes */
                    ETag?: string;
                    /** @description Where the schedule is read */
                    Location?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScheduleDocument"];
                };
            };
            /** @description The request is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description A command, where commands are not allowed, or the key has not the scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description There is no such thing, or it is another tenant's; or no tenant has the name in `Foreman-Tenant` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The name is taken */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The body is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The body is not sent as JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not a valid schedule */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too much was asked for in too short a time, or too many wrong keys came from this address */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    preview_unsaved_schedule: {
        parameters: {
            query?: {
                /** @description How many fires to show. */
                n?: number;
                /** @description Those from this time on. Without it, from now on. */
                from?: string;
            };
            header?: {
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "cron": "30 2 * * *",
                 *       "timezone": "Europe/Berlin"
                 *     }
                 */
                "application/json": components["schemas"]["ScheduleFields"];
            };
        };
        responses: {
            /** @description The next fires */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PreviewDocument"];
                };
            };
            /** @description The request is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The key has not the scope, or names a tenant that is not its own */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description There is no such thing, or it is another tenant's; or no tenant has the name in `Foreman-Tenant` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The body is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The body is not sent as JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not a valid schedule */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too much was asked for in too short a time, or too many wrong keys came from this address */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    get_schedule: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `ETag` of an earlier answer */
                "If-None-Match"?: string | null;
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path: {
                /** @description The schedule's name or id */
                schedule: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The schedule */
            200: {
                headers: {
                    /** @description Its version and a part of its id, in quotes */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScheduleDocument"];
                };
            };
            /** @description It is at this version still */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The key has not the scope, or names a tenant that is not its own */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No such schedule */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too much was asked for in too short a time, or too many wrong keys came from this address */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description A later version wrote it, and this one cannot read it */
            501: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    replace_schedule: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `ETag` it must have, or the version it must be at, such as `"3"`, or `*` */
                "If-Match"?: string | null;
                /** @description `*`: there must be none yet */
                "If-None-Match"?: string | null;
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path: {
                /** @description The schedule's name or id */
                schedule: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "cron": "30 9 * * MON-FRI",
                 *       "job": {
                 *         "url": "http://127.0.0.1:8080/dev/echo"
                 *       },
                 *       "name": "daily-report",
                 *       "overlap": "skip",
                 *       "timezone": "Europe/Berlin"
                 *     }
                 */
                "application/json": components["schemas"]["ScheduleSpec"];
            };
        };
        responses: {
            /** @description Replaced */
            200: {
                headers: {
                    /** @description Its version and a part of its id, in quotes */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScheduleDocument"];
                };
            };
            /** @description There was none, and now there is */
            201: {
                headers: {
                    /** @description Its version and a part of its id, in quotes */
                    ETag?: string;
                    /** @description Where the schedule is read */
                    Location?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScheduleDocument"];
                };
            };
            /** @description The request is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The key has not the scope, or names a tenant that is not its own */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No schedule has this id */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not at this version; `version` says at which */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The body is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The body is not sent as JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not a valid schedule */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too much was asked for in too short a time, or too many wrong keys came from this address */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    delete_schedule: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `ETag` it must have, or the version it must be at, such as `"3"`, or `*` */
                "If-Match"?: string | null;
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path: {
                /** @description The schedule's name or id */
                schedule: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is gone */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The key has not the scope, or names a tenant that is not its own */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No such schedule */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not at this version; `version` says at which */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too much was asked for in too short a time, or too many wrong keys came from this address */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    update_schedule: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `ETag` it must have, or the version it must be at, such as `"3"`, or `*` */
                "If-Match"?: string | null;
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path: {
                /** @description The schedule's name or id */
                schedule: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "cron": "30 9 * * *",
                 *       "jitter": null,
                 *       "job": {
                 *         "queue": "reports"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ScheduleFields"];
                /**
                 * @example {
                 *       "overlap": "skip"
                 *     }
                 */
                "application/merge-patch+json": components["schemas"]["ScheduleFields"];
            };
        };
        responses: {
            /** @description Changed */
            200: {
                headers: {
                    /** @description Its version and a part of its id, in quotes */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScheduleDocument"];
                };
            };
            /** @description The request is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description It runs a command, where commands are not allowed, or the key lacks `exec:command` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No such schedule */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not at this version; `version` says at which */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The body is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The body is not sent as JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description It would not be a valid schedule */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too much was asked for in too short a time, or too many wrong keys came from this address */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    pause_schedule: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `ETag` it must have, or the version it must be at, such as `"3"`, or `*` */
                "If-Match"?: string | null;
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path: {
                /** @description The schedule's name or id */
                schedule: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is paused */
            200: {
                headers: {
                    /** @description Its version and a part of its id, in quotes */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScheduleDocument"];
                };
            };
            /** @description The request is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The key has not the scope, or names a tenant that is not its own */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No such schedule */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not at this version; `version` says at which */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too much was asked for in too short a time, or too many wrong keys came from this address */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    preview_schedule: {
        parameters: {
            query?: {
                /** @description How many fires to show. */
                n?: number;
                /** @description Those from this time on. Without it, from now on. */
                from?: string;
            };
            header?: {
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path: {
                /** @description The schedule's name or id */
                schedule: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The next fires */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PreviewDocument"];
                };
            };
            /** @description The request is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The key has not the scope, or names a tenant that is not its own */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No such schedule */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too much was asked for in too short a time, or too many wrong keys came from this address */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    resume_schedule: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `ETag` it must have, or the version it must be at, such as `"3"`, or `*` */
                "If-Match"?: string | null;
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path: {
                /** @description The schedule's name or id */
                schedule: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is not paused */
            200: {
                headers: {
                    /** @description Its version and a part of its id, in quotes */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScheduleDocument"];
                };
            };
            /** @description The request is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description It runs a command, where commands are not allowed, or the key lacks `exec:command` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No such schedule */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not at this version; `version` says at which */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description It would never fire again */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too much was asked for in too short a time, or too many wrong keys came from this address */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    run_schedule: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path: {
                /** @description The schedule's name or id */
                schedule: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The job */
            202: {
                headers: {
                    /** @description Where the job is read */
                    Location?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobDocument"];
                };
            };
            /** @description The request is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description It runs a command, where commands are not allowed, or the key lacks `exec:command` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No such schedule */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too much was asked for in too short a time, or too many wrong keys came from this address */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    list_ticks: {
        parameters: {
            query?: {
                /** @description How many per page. */
                limit?: number;
                /** @description `next` of the page before, unchanged. */
                cursor?: string;
            };
            header?: {
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path: {
                /** @description The schedule's name or id */
                schedule: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListDocument_TickDocument"];
                };
            };
            /** @description The request is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The key has not the scope, or names a tenant that is not its own */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No such schedule */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too much was asked for in too short a time, or too many wrong keys came from this address */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    sign_in: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SignInDocument"];
            };
        };
        responses: {
            /** @description Who is signed in now; the cookie stands in `Set-Cookie` */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WhoamiDocument"];
                };
            };
            /** @description The request is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The key is unknown, expired or revoked */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request comes from a page of another server */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The body is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The body is not sent as JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description What is asked for cannot be */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too many wrong keys came from this address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    sign_out: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description There is no session any more */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request comes from a page of another server */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    get_statistics: {
        parameters: {
            query?: {
                /** @description How long one bucket is. */
                step?: components["schemas"]["Slot"];
                /** @description From the bucket that this time falls into; an hour (of minutes) or a day (of hours) before `to` without it. */
                from?: string;
                /** @description Up to this time; now without it. */
                to?: string;
                /** @description Only this queue; all together without it. */
                queue?: string;
            };
            header?: {
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The numbers, oldest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StatisticsDocument"];
                };
            };
            /** @description A parameter that does not exist or does not fit */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The key has not the scope, or names a tenant that is not its own */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description There is no such thing, or it is another tenant's; or no tenant has the name in `Foreman-Tenant` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too much was asked for in too short a time, or too many wrong keys came from this address */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    get_queue_statistics: {
        parameters: {
            query?: {
                /** @description How exact the ends of the time are: a minute or an hour. */
                step?: components["schemas"]["Slot"];
                /** @description From the bucket that this time falls into; an hour (of minutes) or a day (of hours) before `to` without it. */
                from?: string;
                /** @description Up to this time; now without it. */
                to?: string;
            };
            header?: {
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The numbers */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListDocument_QueueStatisticsDocument"];
                };
            };
            /** @description A parameter that does not exist or does not fit */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The key has not the scope, or names a tenant that is not its own */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description There is no such thing, or it is another tenant's; or no tenant has the name in `Foreman-Tenant` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too much was asked for in too short a time, or too many wrong keys came from this address */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    stream: {
        parameters: {
            query?: {
                /** @description Only these jobs: ids with commas between them, at most 100. */
                job?: string;
                /** @description Only jobs of these queues, with commas between them, at most 20. */
                queue?: string;
                /** @description Only jobs of these kinds, with commas between them, at most 20. */
                kind?: string;
                /** @description Only jobs with one of these tags, with commas between them, at most 20. */
                tag?: string;
                /**
                 * @description Tell first how things stand: the jobs named by `job`, or else the newest 1,000 that match. With several queues, kinds or tags
                 *     those are looked for among the newest 10,000 jobs, and `complete` says whether that was all. Not told again to a client
                 *     that goes on where it was.
                 */
                snapshot?: boolean;
                /** @description Go on after the event with this `id:`. */
                after?: string;
                /** @description A ticket instead of a key. */
                ticket?: string;
                /** @description The tenant, for operators: as the header `Foreman-Tenant`, where no header can be sent. */
                tenant?: string;
            };
            header?: {
                /** @description The `id:` of the last event that was seen; wins over `after` */
                "Last-Event-ID"?: string | null;
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Events, until one of the two leaves */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": components["schemas"]["StreamEvent"];
                };
            };
            /** @description A parameter that does not exist or does not fit, or a key in the URL */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The key has not the scope, or names a tenant that is not its own */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description There is no such thing, or it is another tenant's; or no tenant has the name in `Foreman-Tenant` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The tenant has as many streams open as it may */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    create_stream_ticket: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The ticket */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TicketDocument"];
                };
            };
            /** @description The request is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The key has not the scope, or names a tenant that is not its own */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description There is no such thing, or it is another tenant's; or no tenant has the name in `Foreman-Tenant` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too much was asked for in too short a time, or too many wrong keys came from this address */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    list_tenants: {
        parameters: {
            query?: {
                /** @description How many per page. */
                limit?: number;
                /** @description `next` of the page before, unchanged. */
                cursor?: string;
            };
            header?: {
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListDocument_TenantDocument"];
                };
            };
            /** @description A parameter that does not exist or does not fit */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The key has not the scope, or names a tenant that is not its own */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description There is no such thing, or it is another tenant's; or no tenant has the name in `Foreman-Tenant` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too much was asked for in too short a time, or too many wrong keys came from this address */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    create_tenant: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "id": "acme",
                 *       "limits": {
                 *         "queued_jobs": 10000
                 *       },
                 *       "weight": 2
                 *     }
                 */
                "application/json": components["schemas"]["NewTenantDocument"];
            };
        };
        responses: {
            /** @description Made */
            201: {
                headers: {
                    /** @description Its version, in quotes */
                    ETag?: string;
                    /** @description Where the tenant is read */
                    Location?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TenantDocument"];
                };
            };
            /** @description The request is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The key has not the scope, or names a tenant that is not its own */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description There is no such thing, or it is another tenant's; or no tenant has the name in `Foreman-Tenant` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description There is one of this id, or there was */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The body is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The body is not sent as JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not a valid tenant */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too much was asked for in too short a time, or too many wrong keys came from this address */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    get_tenant: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `ETag` of an earlier answer */
                "If-None-Match"?: string | null;
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path: {
                /** @description The tenant's id */
                tenant: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The tenant */
            200: {
                headers: {
                    /** @description Its version, in quotes */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TenantDocument"];
                };
            };
            /** @description It is at this version still */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Not a tenant's id */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The key has not the scope, or names a tenant that is not its own */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No such tenant */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too much was asked for in too short a time, or too many wrong keys came from this address */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    delete_tenant: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `ETag` it must have, such as `"3"`, or `*` */
                "If-Match"?: string | null;
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path: {
                /** @description The tenant's id */
                tenant: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is gone */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The key has not the scope, or names a tenant that is not its own */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No such tenant */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description It is not disabled, it still has jobs or schedules, or it is the default one */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not at this version; `version` says at which */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too much was asked for in too short a time, or too many wrong keys came from this address */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    update_tenant: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `ETag` it must have, such as `"3"`, or `*` */
                "If-Match"?: string | null;
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path: {
                /** @description The tenant's id */
                tenant: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "commands": [
                 *         "/usr/bin/ffmpeg"
                 *       ],
                 *       "limits": {
                 *         "running_jobs": 50
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["TenantPatchDocument"];
                /**
                 * @example {
                 *       "disabled": true
                 *     }
                 */
                "application/merge-patch+json": components["schemas"]["TenantPatchDocument"];
            };
        };
        responses: {
            /** @description Changed */
            200: {
                headers: {
                    /** @description Its version, in quotes */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TenantDocument"];
                };
            };
            /** @description The request is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The key has not the scope, or names a tenant that is not its own */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No such tenant */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not at this version; `version` says at which */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The body is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The body is not sent as JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description It would not be a valid tenant */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too much was asked for in too short a time, or too many wrong keys came from this address */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    list_keys: {
        parameters: {
            query?: {
                /** @description How many per page. */
                limit?: number;
                /** @description `next` of the page before, unchanged. */
                cursor?: string;
            };
            header?: {
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path: {
                /** @description The tenant's id */
                tenant: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListDocument_KeyDocument"];
                };
            };
            /** @description The request is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The key has not the scope, or names a tenant that is not its own */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No such tenant */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too much was asked for in too short a time, or too many wrong keys came from this address */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    create_key: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path: {
                /** @description The tenant's id */
                tenant: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "expires_in": "2160h",
                 *       "name": "ci",
                 *       "scopes": [
                 *         "jobs:read",
                 *         "jobs:write"
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["NewKeyDocument"];
            };
        };
        responses: {
            /** @description Made, and shown this once */
            201: {
                headers: {
                    /** @description Where it is read what is known of the key */
                    Location?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MadeKeyDocument"];
                };
            };
            /** @description The request is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The key has not the scope, or names a tenant that is not its own */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No such tenant */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The body is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The body is not sent as JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not a valid key */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too much was asked for in too short a time, or too many wrong keys came from this address */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    get_key: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path: {
                /** @description The tenant's id */
                tenant: string;
                /** @description The key's id: the part between its underscores */
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The key */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeyDocument"];
                };
            };
            /** @description The request is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The key has not the scope, or names a tenant that is not its own */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No such tenant, or it has no such key */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too much was asked for in too short a time, or too many wrong keys came from this address */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    revoke_key: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path: {
                /** @description The tenant's id */
                tenant: string;
                /** @description The key's id: the part between its underscores */
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is revoked */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeyDocument"];
                };
            };
            /** @description The request is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The key has not the scope, or names a tenant that is not its own */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No such tenant, or it has no such key */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too much was asked for in too short a time, or too many wrong keys came from this address */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    rotate_key: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path: {
                /** @description The tenant's id */
                tenant: string;
                /** @description The key's id: the part between its underscores */
                key: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "grace": "24h"
                 *     }
                 */
                "application/json": components["schemas"]["RotateKeyDocument"] | null;
            };
        };
        responses: {
            /** @description The new one, shown this once */
            201: {
                headers: {
                    /** @description Where it is read what is known of the new key */
                    Location?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MadeKeyDocument"];
                };
            };
            /** @description The request is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The key has not the scope, or names a tenant that is not its own */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No such tenant, or it has no such key */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description It opens nothing any more, or was replaced already */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The body is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The body is not sent as JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description A grace or an expiry that cannot be */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too much was asked for in too short a time, or too many wrong keys came from this address */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    rotate_signing_secret: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path: {
                /** @description The tenant's id */
                tenant: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "overlap": "24h"
                 *     }
                 */
                "application/json": components["schemas"]["RotateSecretDocument"] | null;
            };
        };
        responses: {
            /** @description The secret, shown this once */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SecretDocument"];
                };
            };
            /** @description The request is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The key has not the scope, or names a tenant that is not its own */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No such tenant */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The body is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The body is not sent as JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description An overlap that cannot be, or this server has no FOREMAN_SECRET_KEY */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too much was asked for in too short a time, or too many wrong keys came from this address */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    delete_signing_secret: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path: {
                /** @description The tenant's id */
                tenant: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description There is none */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The key has not the scope, or names a tenant that is not its own */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No such tenant */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too much was asked for in too short a time, or too many wrong keys came from this address */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    list_webhooks: {
        parameters: {
            query?: {
                /** @description How many per page. */
                limit?: number;
                /** @description `next` of the page before, unchanged. */
                cursor?: string;
            };
            header?: {
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListDocument_WebhookDocument"];
                };
            };
            /** @description A parameter that does not exist or does not fit */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The key has not the scope, or names a tenant that is not its own */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description There is no such thing, or it is another tenant's; or no tenant has the name in `Foreman-Tenant` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too much was asked for in too short a time, or too many wrong keys came from this address */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    create_webhook: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "events": [
                 *         "job.completed",
                 *         "job.dead"
                 *       ],
                 *       "url": "https://example.com/hooks/foreman"
                 *     }
                 */
                "application/json": components["schemas"]["WebhookSpec"];
            };
        };
        responses: {
            /** @description Made */
            201: {
                headers: {
                    /** @description Its version, in quotes */
                    ETag?: string;
                    /** @description Where the webhook is read */
                    Location?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookDocument"];
                };
            };
            /** @description The request is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The key has not the scope, or names a tenant that is not its own */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description There is no such thing, or it is another tenant's; or no tenant has the name in `Foreman-Tenant` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The tenant has as many as it may have */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The body is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The body is not sent as JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not a valid webhook */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too much was asked for in too short a time, or too many wrong keys came from this address */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    get_webhook: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path: {
                /** @description The webhook's id */
                webhook: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The webhook */
            200: {
                headers: {
                    /** @description Its version, in quotes */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookDocument"];
                };
            };
            /** @description The request is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The key has not the scope, or names a tenant that is not its own */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No such webhook */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too much was asked for in too short a time, or too many wrong keys came from this address */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    delete_webhook: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path: {
                /** @description The webhook's id */
                webhook: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is gone */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The key has not the scope, or names a tenant that is not its own */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No such webhook */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too much was asked for in too short a time, or too many wrong keys came from this address */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    update_webhook: {
        parameters: {
            query?: never;
            header?: {
                /** @description The version it must be at, such as `"3"`, or `*` */
                "If-Match"?: string | null;
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path: {
                /** @description The webhook's id */
                webhook: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "enabled": true
                 *     }
                 */
                "application/json": components["schemas"]["WebhookPatch"];
            };
        };
        responses: {
            /** @description Changed */
            200: {
                headers: {
                    /** @description Its version, in quotes */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookDocument"];
                };
            };
            /** @description The request is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The key has not the scope, or names a tenant that is not its own */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No such webhook */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not at this version; `version` says at which */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The body is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The body is not sent as JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description It would not be a valid webhook */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too much was asked for in too short a time, or too many wrong keys came from this address */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    list_deliveries: {
        parameters: {
            query?: {
                /** @description How many per page. */
                limit?: number;
                /** @description `next` of the page before, unchanged. */
                cursor?: string;
            };
            header?: {
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path: {
                /** @description The webhook's id */
                webhook: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListDocument_DeliveryDocument"];
                };
            };
            /** @description A parameter that does not exist or does not fit */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The key has not the scope, or names a tenant that is not its own */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No such webhook */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too much was asked for in too short a time, or too many wrong keys came from this address */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    get_delivery: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path: {
                /** @description The webhook's id */
                webhook: string;
                /** @description The delivery's id */
                delivery: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The delivery */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeliveryDocument"];
                };
            };
            /** @description The request is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The key has not the scope, or names a tenant that is not its own */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No such delivery */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too much was asked for in too short a time, or too many wrong keys came from this address */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    resend_delivery: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path: {
                /** @description The webhook's id */
                webhook: string;
                /** @description The delivery's id */
                delivery: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The delivery, on its way again */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeliveryDocument"];
                };
            };
            /** @description The request is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The key has not the scope, or names a tenant that is not its own */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No such delivery */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description It is on its way already; `state` says where it stands */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too much was asked for in too short a time, or too many wrong keys came from this address */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    rotate_webhook_secret: {
        parameters: {
            query?: never;
            header?: {
                /** @description The version it must be at, such as `"3"`, or `*` */
                "If-Match"?: string | null;
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path: {
                /** @description The webhook's id */
                webhook: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "overlap": "24h"
                 *     }
                 */
                "application/json": components["schemas"]["RotateSecretDocument"] | null;
            };
        };
        responses: {
            /** @description The webhook with its new secret */
            200: {
                headers: {
                    /** @description Its version, in quotes */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookDocument"];
                };
            };
            /** @description The request is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The key has not the scope, or names a tenant that is not its own */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No such webhook */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not at this version; `version` says at which */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The body is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The body is not sent as JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description An overlap that does not fit, or secrets cannot be kept here */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too much was asked for in too short a time, or too many wrong keys came from this address */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    test_webhook: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path: {
                /** @description The webhook's id */
                webhook: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The delivery, on its way */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeliveryDocument"];
                };
            };
            /** @description The request is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The key has not the scope, or names a tenant that is not its own */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No such webhook */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description It is disabled */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too much was asked for in too short a time, or too many wrong keys came from this address */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    whoami: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Who asks */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WhoamiDocument"];
                };
            };
            /** @description The request is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The key has not the scope, or names a tenant that is not its own */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description There is no such thing, or it is another tenant's; or no tenant has the name in `Foreman-Tenant` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too much was asked for in too short a time, or too many wrong keys came from this address */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    list_workers: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All workers */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListDocument_WorkerDocument"];
                };
            };
            /** @description The request is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The key has not the scope, or names a tenant that is not its own */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description There is no such thing, or it is another tenant's; or no tenant has the name in `Foreman-Tenant` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too much was asked for in too short a time, or too many wrong keys came from this address */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    list_worker_jobs: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant that an operator's request is about; the key's own without it */
                "Foreman-Tenant"?: string;
            };
            path: {
                /** @description The worker's id, as the list of workers has it: not its name */
                worker: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Its jobs, of whatever tenant */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListDocument_HeldDocument"];
                };
            };
            /** @description The request is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No key, or one that is unknown, expired or revoked */
            401: {
                headers: {
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The key has not the scope, or names a tenant that is not its own */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description No such worker */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too much was asked for in too short a time, or too many wrong keys came from this address */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    healthz: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
            /** @description The request is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    metrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Counters and gauges of this process in the OpenMetrics text format */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/openmetrics-text": string;
                };
            };
            /** @description The request is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Overloaded, stopping, or the store is away; send it again */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    readyz: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It should */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Ready"];
                };
            };
            /** @description The request is not valid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request did not arrive in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The request names a host that is not this server */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description The server made a mistake, or its store is damaged; its log tells why */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description It should not; `checks` says why */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Ready"];
                };
            };
            /** @description The store has no space left */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
}
