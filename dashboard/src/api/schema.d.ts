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
         * @description Every kind of change except job submissions, which are recorded by the jobs themselves. Entries have the id of the
         *     key, never the key. They are kept for 90 days unless the configuration says otherwise.
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
         * List dead jobs: jobs whose attempts all failed, kept until they are retried or deleted.
         * @description The same as the list of jobs in the state `dead`, newest first by the time they died.
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
         * @description Errors that differ only in numbers, ids and the like are in the same group. All jobs of a group are in one state:
         *     `failed` (a retry cannot help) or `dead` (all attempts are used up). To list or retry the jobs of a group, pass its
         *     `group` as `error_group` and its `state` as `state` to a list or a bulk operation. At most 100 groups are returned,
         *     each counted up to 10,000; `complete` says whether these are all. Webhook deliveries are not included.
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
         * @description Newest first: by submission time, or by the time they reached it if `state` is a final state. Webhook deliveries,
         *     which are jobs too, are left out unless you ask for `queue=foreman.webhooks`.
         *
         *     Needs a key with the scope `jobs:read`.
         */
        get: operations["list_jobs"];
        put?: never;
        /**
         * Submit a job.
         * @description After a 2xx response the job is durable. With an `Idempotency-Key` header (or the field `idempotency_key`) the
         *     request is safe to repeat for 24 hours: a repeat returns the same job with 200, and a different body under the same
         *     key is rejected.
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
         * @description Each job is validated by itself: an invalid one does not affect the others. The accepted jobs are written together
         *     and are durable once you have the response.
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
         * @description The filter's `state` is a state that is not final; by default, all of those. Webhook deliveries are left out unless
         *     `queue` names their queue.
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
         * @description The filter's `state` is a final state; by default, all of those. Webhook deliveries are left out unless `queue`
         *     names their queue.
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
         * Retry many jobs that have ended.
         * @description The filter's `state` is a final state; by default `dead`, or with an `error_group` both `failed` and `dead`. Webhook
         *     deliveries are left out unless `queue` names their queue. Commands are skipped and counted in `skipped` if the key
         *     lacks the scope `exec:command` or the server does not run commands.
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
         * Delete a job that has ended, and everything recorded about it.
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
         * @description Newest first, at most 25 and about a megabyte per page. An attempt that ends between two requests shifts the pages,
         *     so the same attempt may be on both. If there are more than 200 attempts, the first 20 and the latest are kept.
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
         * @description A waiting job is cancelled at once. So is a running one: its worker is notified and stops the work, and results that
         *     arrive later are rejected. Without the scope `jobs:read` the response has the job's state but none of its content.
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
         * Read the output of a running command.
         * @description Only while an attempt is running in this process. Afterwards the output is part of the job's attempts.
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
         * Retry a job that has ended.
         * @description The job keeps its id. Its attempts are counted from zero again, and the earlier ones stay visible. A command needs
         *     the scope `exec:command`, as it did when it was submitted. Without the scope `jobs:read` the response has the job's
         *     state but none of its content.
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
         * @description Responds as soon as the job is final. At the timeout, or when the server stops, it responds with the unfinished job.
         *     If the key is revoked or expires meanwhile, the request ends with 401 within a few seconds.
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
         * Counts of jobs and queues, the workers, and what needs attention. At most a second or two old.
         * @description A count with `estimate` means "at least this many": counting stops at 1,000. Webhook deliveries are not counted.
         *     Workers are shown to operators (scope `admin`), late schedules to keys with `schedules:read`.
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
    "/api/v1/parked": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List messages from Kafka that could not be read, the latest first.
         * @description Workers keep such a message with the reason and go on. Nothing is lost by it: the job that it may have named is
         *     announced again. They are kept for 14 days unless the configuration says otherwise. Empty without Kafka.
         *
         *     Needs a key with the scope `admin`.
         */
        get: operations["list_parked"];
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
         * List queues: depth by state, age of the oldest due job, and throughput.
         * @description Foreman's own queue `foreman.webhooks` is listed only if `queue` names it.
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
         * Pause a queue: no further jobs are started. Running jobs continue, and new jobs are still accepted.
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
         * Create a schedule.
         * @description Starting with its next time, each tick creates its job exactly once.
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
         * @description Only the timing is required: `name` and `job` may be left out, and are validated if given.
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
         * @description With its next tick, the result of the latest one, and its version as `ETag`.
         *
         *     Needs a key with the scope `schedules:read`.
         */
        get: operations["get_schedule"];
        /**
         * Replace or create a schedule.
         * @description With `If-Match` it is replaced only if it has that version (with `*`, any version); with `If-None-Match: *` it is
         *     only created. A tick that is already due is fired first.
         *
         *     Needs a key with the scope `schedules:write`.
         */
        put: operations["replace_schedule"];
        post?: never;
        /**
         * Delete a schedule.
         * @description Its jobs are kept. A tick that is already due is fired first; a held tick is dropped. The tick history is kept for a while.
         *
         *     Needs a key with the scope `schedules:write`.
         */
        delete: operations["delete_schedule"];
        options?: never;
        head?: never;
        /**
         * Change some fields of a schedule.
         * @description A JSON merge patch (RFC 7396): a field replaces the old value, and `null` removes it. The same goes for the fields
         *     of `job`; deeper values are replaced as a whole. Changing a schedule that runs a command needs the scope
         *     `exec:command`, even if only its times change.
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
         * Pause a schedule: it does not fire until it is resumed, and ticks missed in between are not made up for.
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
         * @description Each fire in UTC and in the schedule's time zone, with a note if a daylight saving change moved, merged or skipped
         *     it. A paused schedule is previewed like any other.
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
         * Resume a schedule: it fires again from its next time.
         * @description A schedule that runs a command needs the scope `exec:command`.
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
         * Run a schedule now.
         * @description Creates one job immediately, even if the schedule is paused or another of its jobs is running. Repeating the request
         *     creates another job. A schedule that runs a command needs the scope `exec:command`.
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
         * List a schedule's ticks and their results, newest first.
         * @description A tick was fired (with the job it created and that job's state), is held until the job of an earlier tick is final,
         *     or was skipped (with the reason).
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
         * @description Exchanges a key for the cookie `foreman_session`, which gives pages of this server the access of that key for 12
         *     hours. An earlier session of the same browser ends. If the server requires no key, the response only says who you
         *     are, and no cookie is needed.
         *
         *     A request with the cookie and without `Authorization` acts as the signed-in user. A request that changes something
         *     must come from a page of this server: `Sec-Fetch-Site: same-origin`, or an `Origin` with the scheme and host that
         *     the browser requested.
         */
        post: operations["sign_in"];
        /**
         * Sign out.
         * @description Ends the session of the cookie, if there is one, on every server of the team, and clears the cookie.
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
         * Jobs submitted, started and ended, and how long they waited and ran, by minute or by hour.
         * @description Without `queue`, for all queues together; webhook deliveries are left out unless you ask for
         *     `queue=foreman.webhooks`. At most 1,500 buckets are returned; empty ones are left out, and the queue depth in them
         *     is that of the previous bucket. The newest data is a second or two behind. Hours are kept for
         *     `retention.statistics`, 30 days by default, and minutes for two days: a range that begins earlier is returned by the
         *     hour, and `step` says so.
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
         * The same numbers summed over the time range, per queue: the busiest first, at most 100, without Foreman's own queues.
         * @description A range that begins more than two days ago is summed by the hour.
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
         * Stream events live.
         * @description Server-sent events, each with `event:`, `id:` and one line of JSON as `data:`.
         *
         *     - `job` (`JobEvent`): a job changed its state. Every final state is sent; changes in between may be merged, which
         *       `sequence`, a count of a job's changes from 1, shows.
         *     - `schedule` (`ScheduleEvent`): a schedule ticked, or was created, changed or deleted. Only sent to keys that also
         *       have the scope `schedules:read`.
         *     - `worker` (`WorkerEvent`): a worker started, is draining, stopped or died. For operators only.
         *     - `queue` (`QueueEvent`): a queue was paused or resumed.
         *     - `snapshot` (`SnapshotEvent`): the `job` events before it were the current state; changes follow. A change that is
         *       already part of the snapshot may be sent again; `sequence` tells which is newer.
         *     - `heartbeat` (`HeartbeatEvent`): at the start and every 15 s. A client that receives nothing for 40 s should
         *       reconnect.
         *     - `reset` (`ResetEvent`): the cursor cannot be resumed, and the stream continues from now; reload your data.
         *
         *     With a filter on `job`, `kind` or `tag` only `job` events are sent; a filter on `queue` also keeps the `queue`
         *     events of those queues. A client that was disconnected, for whatever reason, sends the last `id:` it received as
         *     `Last-Event-ID` or as `after` and misses nothing; `Last-Event-ID` takes precedence.
         *
         *     Authenticate with a key in `Authorization`, with the session cookie on a page of this server, or with a ticket,
         *     which opens the stream once if you cannot send headers; never with a key in the URL.
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
         * @description Valid once, within 30 s, as `GET /api/v1/stream?ticket=…`: for an `EventSource`, which cannot send headers. It opens
         *     the stream of this request's tenant, with the permissions of the key it was created with.
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
         * Create a tenant.
         * @description It has no keys yet. Its id is never reused, not even after the tenant is deleted.
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
         * @description With its limits, the commands its jobs may run, and its version as `ETag`.
         *
         *     Needs a key with the scope `admin`.
         */
        get: operations["get_tenant"];
        put?: never;
        post?: never;
        /**
         * Delete a tenant.
         * @description It must be disabled and have no jobs or schedules left: an operator deletes those with the header `Foreman-Tenant`.
         *     Its keys, webhooks and settings are deleted with it; its id is never reused.
         *
         *     Needs a key with the scope `admin`.
         */
        delete: operations["delete_tenant"];
        options?: never;
        head?: never;
        /**
         * Change a tenant.
         * @description A JSON merge patch (RFC 7396): a field replaces the old value, and `null` resets it to the default. The same goes
         *     for the fields of `limits`. A disabled tenant keeps its data; its keys are rejected within seconds.
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
         * List a tenant's keys, by id, including revoked and expired ones.
         * @description Needs a key with the scope `admin`.
         */
        get: operations["list_keys"];
        put?: never;
        /**
         * Create a key.
         * @description The key is shown only in this response: the server stores only its hash. A key can have only scopes that the caller's key has.
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
         * Read the record of a key. The key itself is not stored.
         * @description Needs a key with the scope `admin`.
         */
        get: operations["get_key"];
        put?: never;
        post?: never;
        /**
         * Revoke a key.
         * @description Takes effect within 5 seconds on every server and on open streams, and cannot be undone. The key stays listed;
         *     revoking it again changes nothing.
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
         * Replace a key with a new one that has the same scopes.
         * @description The old key stays valid for the grace period, `24h` by default, but never beyond its own expiry; `0s` ends it at
         *     once. The new key is shown only in this response.
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
         * Create or rotate a tenant's signing secret.
         * @description Its pushes and callbacks are signed with the secret from now on (Standard Webhooks). During the overlap, `24h` by
         *     default, they are also signed with the previous secret. The secret is shown only in this response.
         *
         *     Needs a key with the scope `admin`.
         */
        post: operations["rotate_signing_secret"];
        /**
         * Delete a tenant's signing secret. Its pushes and callbacks are no longer signed.
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
         * Create a webhook.
         * @description Its `secret` is shown only in this response: store it where you verify messages.
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
         * Delete a webhook. Pending deliveries are cancelled.
         * @description Needs a key with the scope `jobs:write`.
         */
        delete: operations["delete_webhook"];
        options?: never;
        head?: never;
        /**
         * Change some fields of a webhook.
         * @description `"enabled": true` also re-enables a webhook that was disabled because of failures.
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
         * Read a delivery: the message and every attempt.
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
         * Resend a delivery that has ended: the same message with the same id.
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
         * Rotate a webhook's secret.
         * @description Both secrets sign during the overlap, so a receiver can verify with either. The new one is shown only in this response.
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
         * Send a test message (event `webhook.test`).
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
         * @description The tenant, the key's id and its scopes, and the limits in force.
         *
         *     Needs a key; any scope will do.
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
         * List workers: online ones first, then those that stopped or died recently.
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
         * List the jobs a worker is running, longest-running first.
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
        /** Metrics for Prometheus */
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
         * @description Yes, while its store responds and has not been found damaged since the start, the process is not stopping, and, if
         *     it fires schedules, it is not too far behind. A process that uses Kafka is not ready while topics are missing or wrong;
         *     while the brokers do not respond, it is ready and `checks` says that it is degraded.
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
        /** @description The part of a job document that repeats the submitted fields. */
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
        /** @description One attempt. */
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
             * @description 0 if the job ended without an attempt.
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
         * @description How an attempt ended.
         * @enum {string}
         */
        AttemptOutcome: "completed" | "failed" | "retry" | "interrupted" | "released" | "lapsed" | "cancelled" | "dead";
        /** @description Something that needs attention. */
        AttentionDocument: {
            /** Format: int64 */
            count: number;
            /** @description A sentence. */
            detail: string;
            estimate: boolean;
            kind: components["schemas"]["AttentionKind"];
            /** Format: date-time */
            since?: string | null;
            /** @description The queue, worker or webhook it is about, if any. */
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
             * @description The HTTP status of the response.
             */
            status: number;
            /** @description The tenant that owns the object. */
            tenant: string;
        };
        /** @description Fields left out keep the target's default. */
        BackoffSpec: {
            /** @example 10s */
            base?: string | null;
            /** @example 1h */
            cap?: string | null;
            /** Format: double */
            factor?: number | null;
        };
        BatchAnswer: {
            /** @description One entry per job of the request, in the same order: the job, or the problem with its `status`. */
            results: components["schemas"]["BatchItem"][];
        };
        /** @description The result of one job of a batch. */
        BatchItem: components["schemas"]["JobDocument"] | components["schemas"]["ProblemDocument"];
        BatchRequest: {
            jobs: components["schemas"]["JobSpec"][];
        };
        BucketDocument: components["schemas"]["TallyDocument"] & {
            /**
             * Format: date-time
             * @description The start of the minute or hour.
             */
            at: string;
        };
        BulkAnswer: {
            /**
             * Format: int64
             * @description How many were changed; fewer than matched if some changed state meanwhile. 0 in a dry run.
             */
            changed: number;
            /** Format: int64 */
            matched: number;
            /**
             * Format: int64
             * @description How many of the matched jobs are commands that were skipped because the key lacks `exec:command` or the server
             *     does not run commands. 0 in a dry run.
             */
            skipped?: number;
        };
        BulkRequest: {
            /** @description Only count. */
            dry_run?: boolean;
            filter: components["schemas"]["FilterDocument"];
        };
        Check: {
            /** @description Why it is not ready, or a note. */
            detail?: string | null;
            name: string;
            ok: boolean;
        };
        /** @description A command's output, the first 64 KiB of each stream, and how it ended. */
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
            /** @description There are at least this many: counting stops early in a long history. */
            estimate: boolean;
        };
        /** @description One message to an endpoint: pending, delivered or failed. */
        DeliveryDocument: {
            /** @description The job the message is about. */
            about?: string | null;
            /** Format: int32 */
            attempt?: number | null;
            /** Format: date-time */
            created_at: string;
            error?: string | null;
            event: string;
            /** Format: date-time */
            finished_at?: string | null;
            /** @description The state of the delivery, which is a job itself. */
            id: string;
            job?: components["schemas"]["JobDocument"] | null;
            /** @description As sent in `webhook-id`; the same for every attempt. */
            message_id: string;
            /**
             * Format: date-time
             * @description The time of the next attempt; `null` if there is none.
             */
            next_attempt_at?: string | null;
            state?: components["schemas"]["State"] | null;
            /**
             * Format: int32
             * @description The endpoint's latest response.
             */
            status?: number | null;
            webhook: string;
        };
        /**
         * @description Why an endpoint is disabled.
         * @enum {string}
         */
        Disabled: "by_owner" | "gone" | "failing";
        /**
         * @description What happens to a local time that does not exist because the clocks go forward.
         * @enum {string}
         */
        DstGap: "next_valid" | "skip";
        /**
         * @description What happens to a local time that occurs twice because the clocks go back.
         * @enum {string}
         */
        DstOverlap: "first" | "both";
        /** @description Which exit codes complete a command and which fail it at once; any other code is retried. */
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
        /** @description Jobs that failed or died with the same error, apart from numbers and ids in it. */
        FailureGroupDocument: {
            /** Format: int64 */
            count: number;
            /** @description The error of the latest job. */
            error?: string | null;
            /** @description There are at least this many. */
            estimate: boolean;
            /** Format: date-time */
            first_at: string;
            /**
             * @description The value for `error_group` of a filter. `null`: these jobs ended before errors were grouped, and can only be
             *     filtered by their state.
             */
            group?: string | null;
            /** @description The latest job of the group. */
            job: string;
            /** @description The kind of the latest job. */
            kind?: string | null;
            /** Format: date-time */
            last_at: string;
            queue: string;
            /** @description `failed` or `dead`: all jobs of a group ended in the same state. */
            state?: components["schemas"]["State"];
        };
        /** @description The errors of failed and dead jobs, the most frequent first. */
        FailureGroupsDocument: {
            /**
             * @description `false`: there are more groups than these. With more than a few thousand groups, only those that are frequent
             *     among the latest jobs are counted.
             */
            complete: boolean;
            items: components["schemas"]["FailureGroupDocument"][];
            /** @description Always `null`: there is one page. */
            next?: string | null;
        };
        /** @description The jobs that a bulk operation applies to. Without any field, all jobs. */
        FilterDocument: {
            correlation_id?: string | null;
            /** Format: date-time */
            created_after?: string | null;
            /** Format: date-time */
            created_before?: string | null;
            /**
             * @description Only jobs that ended with an error of this group; `group` of the list of groups. It must not be `null`, which
             *     would mean all jobs.
             */
            error_group?: string | null;
            kind?: string | null;
            queue?: string | null;
            state?: components["schemas"]["State"] | null;
            tag?: string | null;
        };
        Health: {
            /** @description Always `alive`: a process that is not alive does not respond. */
            status: string;
            version: string;
        };
        /** @description `event: heartbeat`. The connection is alive, and nothing has happened. */
        HeartbeatEvent: {
            /** Format: date-time */
            at: string;
        };
        /** @description A job that a worker is running. */
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
        /** @description A hint about a job. */
        HintDocument: {
            /** @description A sentence. */
            detail: string;
            kind: components["schemas"]["HintKind"];
        };
        /** @enum {string} */
        HintKind: "no-worker" | "unknown";
        /** @description A target's response: status, selected headers and the first 4 KiB of the body. */
        HttpReport: {
            body?: string;
            headers?: [
                string,
                string
            ][];
            /** Format: int32 */
            status: number;
            /** @description The response body was longer than what is stored. */
            truncated?: boolean;
        };
        /**
         * @description A job: its submitted fields and its state. In a list, `payload`, `body`, `headers`, `env`, `cwd`, `exit_codes` and
         *     `attempts` are left out, and a command or an error of more than 1,000 characters is truncated and ends in `…`; read
         *     the job to get them in full.
         */
        JobDocument: components["schemas"]["Asked"] & {
            /**
             * Format: int32
             * @description The number of the latest attempt; it never decreases.
             */
            attempt: number;
            /** @description The latest attempts, oldest first, at most 25 and about a megabyte. Only when a single job is read. */
            attempts?: components["schemas"]["AttemptDocument"][] | null;
            /** @description If there are older attempts than those in `attempts`: the `cursor` for their first page. */
            attempts_next?: string | null;
            /**
             * Format: int64
             * @description The number of attempts so far. If there are more than 200, the first 20 and the latest are kept.
             */
            attempts_total?: number | null;
            /**
             * Format: int32
             * @description How often a worker died while it was running this job.
             */
            crashes: number;
            /** Format: date-time */
            created_at: string;
            /** @description Why the latest attempt failed. */
            error?: string | null;
            /** Format: date-time */
            finished_at?: string | null;
            /** @description What keeps it from running, as far as the server knows. Only when a single job is read or submitted. */
            hints?: components["schemas"]["HintDocument"][];
            id: string;
            /** Format: int32 */
            max_attempts: number;
            priority: components["schemas"]["Lane"];
            queue: string;
            /** Format: date-time */
            run_at: string;
            /** @description The schedule whose tick created it. */
            schedule?: string | null;
            /**
             * Format: date-time
             * @description The nominal time of that tick.
             */
            scheduled_for?: string | null;
            /**
             * Format: int32
             * @description The number of its changes, from 1: `sequence` of its latest event on the stream.
             */
            sequence?: number;
            /**
             * Format: int32
             * @description Attempts that count against `max_attempts`; interrupted ones do not.
             */
            spent: number;
            /** Format: date-time */
            started_at?: string | null;
            state: components["schemas"]["State"];
        };
        /** @description `event: job`. A job changed its state. Changes in between may be merged, which `sequence` shows. */
        JobEvent: {
            /** Format: date-time */
            at: string;
            /** Format: int32 */
            attempt: number;
            id: string;
            queue: string;
            /**
             * Format: int32
             * @description Counts the job's changes, from 1.
             */
            sequence: number;
            state: components["schemas"]["State"];
        };
        /** @description The fields of a job. Exactly one of `url`, `command` and `task` says what it does; everything else has a default. */
        JobSpec: {
            backoff?: components["schemas"]["BackoffSpec"] | null;
            /** @description Raw text instead of `payload`. */
            body?: string | null;
            /** @description Receives a signed message when the job is final (see webhooks). */
            callback_url?: string | null;
            command?: components["schemas"]["CommandSpec"] | null;
            correlation_id?: string | null;
            /** @description The command's working directory, an absolute path. */
            cwd?: string | null;
            /**
             * @description Start no earlier than this long after submission, such as `90s`.
             * @example 1h30m
             */
            delay?: string | null;
            /** @description Environment variables of the command, in addition to those the worker passes on. */
            env?: {
                [key: string]: string;
            } | null;
            exit_codes?: components["schemas"]["ExitCodes"] | null;
            /**
             * Format: date-time
             * @description Start no later than this: a job that has not started by then fails with the error `expired`.
             */
            expires_at?: string | null;
            headers?: {
                [key: string]: string;
            } | null;
            /** @description Makes the submission safe to repeat for 24 hours; the same as the header `Idempotency-Key`. */
            idempotency_key?: string | null;
            /** @description A label to filter by. */
            kind?: string | null;
            /** Format: int32 */
            max_attempts?: number | null;
            /** @description The request method: POST, PUT, PATCH, GET, DELETE or HEAD. */
            method?: string | null;
            /** @description Any JSON: the request body, the task's argument, or the command's standard input, passed on byte for byte. */
            payload?: unknown;
            priority?: components["schemas"]["Lane"] | null;
            /** @description Letters, digits, `.`, `_`, `-`, up to 64. */
            queue?: string | null;
            /**
             * Format: date-time
             * @description Start no earlier than this time; a time in the past means now.
             */
            run_at?: string | null;
            tags?: string[] | null;
            /** @description Run the task with this name. */
            task?: string | null;
            /**
             * @description The time limit of one attempt.
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
             * @description Accurate to about a minute; `null` if it was never used.
             */
            last_used_at?: string | null;
            name: string;
            /** @description The key that replaces it. */
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
        /** @description One page of a list. Pass `next` unchanged as `cursor` to get the next page; it is `null` on the last one. */
        ListDocument_AttemptDocument: {
            items: components["schemas"]["AttemptDocument"][];
            next?: string | null;
        };
        /** @description One page of a list. Pass `next` unchanged as `cursor` to get the next page; it is `null` on the last one. */
        ListDocument_AuditDocument: {
            items: components["schemas"]["AuditDocument"][];
            next?: string | null;
        };
        /** @description One page of a list. Pass `next` unchanged as `cursor` to get the next page; it is `null` on the last one. */
        ListDocument_DeliveryDocument: {
            items: components["schemas"]["DeliveryDocument"][];
            next?: string | null;
        };
        /** @description One page of a list. Pass `next` unchanged as `cursor` to get the next page; it is `null` on the last one. */
        ListDocument_HeldDocument: {
            items: components["schemas"]["HeldDocument"][];
            next?: string | null;
        };
        /** @description One page of a list. Pass `next` unchanged as `cursor` to get the next page; it is `null` on the last one. */
        ListDocument_JobDocument: {
            items: components["schemas"]["JobDocument"][];
            next?: string | null;
        };
        /** @description One page of a list. Pass `next` unchanged as `cursor` to get the next page; it is `null` on the last one. */
        ListDocument_KeyDocument: {
            items: components["schemas"]["KeyDocument"][];
            next?: string | null;
        };
        /** @description One page of a list. Pass `next` unchanged as `cursor` to get the next page; it is `null` on the last one. */
        ListDocument_ParkedDocument: {
            items: components["schemas"]["ParkedDocument"][];
            next?: string | null;
        };
        /** @description One page of a list. Pass `next` unchanged as `cursor` to get the next page; it is `null` on the last one. */
        ListDocument_QueueDocument: {
            items: components["schemas"]["QueueDocument"][];
            next?: string | null;
        };
        /** @description One page of a list. Pass `next` unchanged as `cursor` to get the next page; it is `null` on the last one. */
        ListDocument_QueueStatisticsDocument: {
            items: components["schemas"]["QueueStatisticsDocument"][];
            next?: string | null;
        };
        /** @description One page of a list. Pass `next` unchanged as `cursor` to get the next page; it is `null` on the last one. */
        ListDocument_ScheduleDocument: {
            items: components["schemas"]["ScheduleDocument"][];
            next?: string | null;
        };
        /** @description One page of a list. Pass `next` unchanged as `cursor` to get the next page; it is `null` on the last one. */
        ListDocument_TenantDocument: {
            items: components["schemas"]["TenantDocument"][];
            next?: string | null;
        };
        /** @description One page of a list. Pass `next` unchanged as `cursor` to get the next page; it is `null` on the last one. */
        ListDocument_TickDocument: {
            items: components["schemas"]["TickDocument"][];
            next?: string | null;
        };
        /** @description One page of a list. Pass `next` unchanged as `cursor` to get the next page; it is `null` on the last one. */
        ListDocument_WebhookDocument: {
            items: components["schemas"]["WebhookDocument"][];
            next?: string | null;
        };
        /** @description One page of a list. Pass `next` unchanged as `cursor` to get the next page; it is `null` on the last one. */
        ListDocument_WorkerDocument: {
            items: components["schemas"]["WorkerDocument"][];
            next?: string | null;
        };
        /** @description A newly created key. It is shown only in this response. */
        MadeKeyDocument: components["schemas"]["KeyDocument"] & {
            /** @description The complete key, for `Authorization: Bearer …`. */
            key: string;
            replaces?: components["schemas"]["KeyDocument"] | null;
        };
        /**
         * @description What happens to missed ticks: ticks that were not fired in time because no scheduler was running or the clock jumped forward.
         * @enum {string}
         */
        Missed: "skip" | "latest" | "all";
        /** @description One mistake and its location. */
        Mistake: {
            detail: string;
            /** @description A JSON pointer, such as `/url`. */
            pointer: string;
        };
        /** @description A key to create. */
        NewKeyDocument: {
            /**
             * Format: date-time
             * @description The key is not valid from this time on.
             */
            expires_at?: string | null;
            /**
             * @description The same, relative to now.
             * @example 720h
             */
            expires_in?: string | null;
            /** @description A name for people; up to 100 characters. */
            name?: string | null;
            /**
             * @description At least one; `jobs:*` and `schedules:*` stand for read and write.
             * @example [
             *       "jobs:read",
             *       "jobs:write"
             *     ]
             */
            scopes: string[];
        };
        /** @description A tenant to create. */
        NewTenantDocument: {
            commands?: string[] | null;
            /** @description Its keys are rejected, and none of its jobs, schedules or deliveries run. */
            disabled?: boolean | null;
            /** @description 1 to 63 of a-z, 0-9 and the hyphen, with a letter or digit first and last. Ids are never reused. */
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
             * @description Pass this as `after` to continue.
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
         * @description What a tick does while an earlier job of the same schedule is not final.
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
        /** @description A message that a worker received and could not read. */
        ParkedDocument: {
            /** @description Its bytes in base64; of a large message, the first. */
            content: string;
            /** @description Its key in base64, if it had one. */
            key?: string | null;
            /**
             * Format: int64
             * @description Increases with every parked message.
             */
            number: number;
            /** Format: int64 */
            offset: number;
            /** Format: date-time */
            parked_at: string;
            /** Format: int32 */
            partition: number;
            /** @description Why it could not be read. */
            reason: string;
            /**
             * Format: int64
             * @description How many bytes the message had.
             */
            size: number;
            /** @example foreman.jobs.normal */
            topic: string;
        };
        PauseAnswer: {
            /** @description `false` if there was nothing to change. */
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
        /** @description One fire of a schedule. */
        PreviewItem: {
            /** Format: date-time */
            at: string;
            /**
             * @description The same time in the schedule's time zone, with its offset.
             * @example 2026-03-29T03:00:00+02:00
             */
            local: string;
            /**
             * @description How a daylight saving change affected it.
             * @example 02:30 does not exist on 2026-03-29: moved to 03:00
             */
            note?: string | null;
        };
        /** @description RFC 9457. `type` is the path of a page on this server that explains the problem. */
        ProblemDocument: {
            detail: string;
            /** @description All mistakes in the request. */
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
             * @description The current version, if the request expected another one.
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
        /** @description `event: reset`. The stream cannot resume from the requested cursor and continues from now. */
        ResetEvent: {
            /** Format: date-time */
            at: string;
            /** @description What to do. */
            detail: string;
            reason: components["schemas"]["ResetReason"];
        };
        /** @enum {string} */
        ResetReason: "expired" | "unknown";
        /** @description How to replace a key. */
        RotateKeyDocument: {
            /**
             * Format: date-time
             * @description The expiry of the new key. Without `expires_at` and `expires_in`, its lifetime is the same as the old key's was.
             */
            expires_at?: string | null;
            /** @example 720h */
            expires_in?: string | null;
            /**
             * @description How long the old key stays valid, at most `720h`. Defaults to `24h`.
             * @example 24h
             */
            grace?: string | null;
        };
        /** @description How to rotate a signing secret. */
        RotateSecretDocument: {
            /**
             * @description How long the old secret also signs, at most `720h`. Defaults to `24h`.
             * @example 24h
             */
            overlap?: string | null;
        };
        /** @description A schedule: its fields and its state. */
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
             * @description The tick that is held until the job of an earlier tick is final.
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
             * @description The next tick; `null` if the schedule is paused or finished.
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
             * @description Increases with every edit; the `ETag` begins with it.
             */
            version: number;
        };
        /** @description `event: schedule`. A schedule ticked, or was created, changed or deleted. */
        ScheduleEvent: {
            /** Format: date-time */
            at: string;
            id: string;
            /** @description The job that the tick created. */
            job?: string | null;
            name: string;
            /**
             * Format: date-time
             * @description The nominal time of the tick.
             */
            scheduled_for?: string | null;
            tick?: components["schemas"]["TickState"] | null;
            what: components["schemas"]["ScheduleWhat"];
        };
        /** @description Any of the fields of a schedule: for the preview of an incomplete one, and for a patch, where `null` removes a field. */
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
        /** @description The fields of a schedule. Exactly one of `cron`, `every` and `at` sets the time; `job` is the job to create. */
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
             * @description The interval between ticks in real time, counted from `start_at` or from the schedule's creation.
             * @example 90s
             */
            every?: string | null;
            /**
             * @description Each job starts up to this long after its tick; the delay is always the same for the same tick.
             * @example 30s
             */
            jitter?: string | null;
            /** @description The fields of the job that every tick creates, without `run_at`, `delay`, `expires_at` and `idempotency_key`. */
            job: components["schemas"]["JobSpec"];
            missed?: components["schemas"]["Missed"] | null;
            /**
             * Format: int32
             * @description The most missed ticks to fire if `missed` is `all`: 1 to 1000. Defaults to 100.
             */
            missed_max?: number | null;
            /** @description Letters, digits, `.`, `_`, `-`, up to 128. It cannot be changed. */
            name: string;
            overlap?: components["schemas"]["Overlap"] | null;
            /** @description A paused schedule does not fire, and its missed ticks are not made up for later. */
            paused?: boolean | null;
            /**
             * Format: date-time
             * @description No tick before this time.
             */
            start_at?: string | null;
            /**
             * @description An IANA time zone for `cron`. Defaults to UTC.
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
        /** @description A newly created signing secret. It is shown only in this response. */
        SecretDocument: {
            /** @description `whsec_…`, for receivers of callbacks: signs callbacks only. Derived from `secret`. */
            callback_secret?: string | null;
            /** @description `whsec_…`, for targets: signs pushes only. Derived from `secret`. */
            push_secret?: string | null;
            /** @description `whsec_…`. Signs both pushes and callbacks until version 1.0, for receivers that already verify with it. */
            secret: string;
        };
        /** @enum {string} */
        SessionState: "live" | "draining" | "ended" | "dead";
        /** @description The key to sign in with. */
        SignInDocument: {
            /** @description `fm_…`, or the configured admin key. */
            key: string;
        };
        /**
         * @description The length of a bucket.
         * @enum {string}
         */
        Slot: "minute" | "hour";
        /** @description `event: snapshot`. The current state has been sent; changes follow. */
        SnapshotEvent: {
            /** Format: date-time */
            at: string;
            /** @description `false`: there are older jobs that were not sent. */
            complete: boolean;
            /**
             * Format: int64
             * @description How many jobs were sent.
             */
            jobs: number;
        };
        /** @description The distribution of durations. The quantiles are approximate: they are computed from a histogram. */
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
            /** @description Oldest first. Empty buckets are left out; the queue depth in them is that of the previous bucket. */
            items: components["schemas"]["BucketDocument"][];
            step: components["schemas"]["Slot"];
            /** Format: date-time */
            to: string;
        };
        /** @description The `data:` of an event; `event:` names its type. */
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
             * @description Attempts after which the job was not final.
             */
            retried: number;
            run?: components["schemas"]["SpreadDocument"] | null;
            /**
             * Format: int64
             * @description The highest number of running jobs seen.
             */
            running?: number | null;
            /**
             * Format: int64
             * @description Attempts started.
             */
            started: number;
            /** Format: int64 */
            submitted: number;
            wait?: components["schemas"]["SpreadDocument"] | null;
            /**
             * Format: int64
             * @description The highest number of waiting jobs seen; measured once a minute, and unchanged if nothing happened.
             */
            waiting?: number | null;
        };
        /** @description A tenant: its settings, and the limits that result from them. */
        TenantDocument: {
            /** @description The programs its jobs may run: absolute paths, `sh` for shell commands, `*` for everything. */
            commands: string[];
            /** Format: date-time */
            created_at: string;
            /** @description Its keys are rejected, and none of its jobs, schedules or deliveries run until it is enabled again. Waiting jobs are kept. */
            disabled: boolean;
            id: string;
            /** @description Where it differs from the server's default limits: a number, or `unlimited`. */
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
            /**
             * @description Environment variables that its jobs may set for these programs: names, prefixes such as `REPORT_*`, or `*`. If
             *     `commands` has `sh` or `*`, all may be set.
             */
            variables?: string[];
            /**
             * Format: int64
             * @description Increases with every edit; the `ETag` is this number in quotes.
             */
            version: number;
            /**
             * Format: int32
             * @description Its share if jobs of several tenants wait in one queue and lane.
             */
            weight: number;
        };
        /** @description Changes to a tenant: a JSON merge patch. `null` resets a field to the default, also inside `limits`. */
        TenantPatchDocument: {
            commands?: string[] | null;
            /**
             * @description `true` stops the tenant: none of its jobs, schedules or deliveries are started from now on, and within five
             *     seconds its keys are rejected and its running attempts are stopped without counting. `false` enables it again.
             */
            disabled?: boolean | null;
            limits?: {
                [key: string]: components["schemas"]["LimitDocument"];
            } | null;
            variables?: string[] | null;
            /** Format: int32 */
            weight?: number | null;
        };
        /** @description The result of a tick, or of a series of missed ticks. */
        TickDocument: {
            /**
             * Format: date-time
             * @description When the result was recorded.
             */
            at: string;
            /**
             * Format: int32
             * @description How many ticks this entry covers; `null`: too many to count.
             */
            count?: number | null;
            /** @description The job it created. */
            job?: string | null;
            job_state?: components["schemas"]["State"] | null;
            /**
             * Format: date-time
             * @description The last tick of a series of missed ones.
             */
            last?: string | null;
            /**
             * Format: date-time
             * @description Its nominal time.
             */
            nominal: string;
            reason?: components["schemas"]["TickReason"] | null;
            state: components["schemas"]["TickState"];
        };
        /** @enum {string} */
        TickReason: "by_hand" | "missed" | "overlap" | "deleted" | "too_many_waiting";
        /** @enum {string} */
        TickState: "fired" | "held" | "skipped";
        /** @description Opens the stream once, as a URL parameter, for clients that cannot send headers. */
        TicketDocument: {
            /** Format: date-time */
            expires_at: string;
            ticket: string;
        };
        /** @enum {string} */
        Unlimited: "unlimited";
        /** @description A webhook endpoint. Its secret is shown only in the response that created it. */
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
             * @description The time since when every delivery has failed; `null` while deliveries succeed.
             */
            failing_since?: string | null;
            id: string;
            /**
             * @description Shown only when the webhook is created or its secret is rotated.
             * @example whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD
             */
            secret?: string | null;
            /** @description The number of secrets that sign now: two during a rotation. */
            secrets: number;
            /** Format: date-time */
            updated_at: string;
            url: string;
            /**
             * Format: int64
             * @description Increases with every change; the `ETag` is this number.
             */
            version: number;
        };
        /** @description The fields of an endpoint to change. */
        WebhookPatch: {
            description?: string | null;
            /** @description `true` also re-enables an endpoint that was disabled because of failures. */
            enabled?: boolean | null;
            events?: string[] | null;
            url?: string | null;
        };
        /** @description The fields of an endpoint. */
        WebhookSpec: {
            description?: string | null;
            /** @description Whether it receives messages. Defaults to `true`. */
            enabled?: boolean | null;
            /**
             * @description The events to receive: names such as `job.completed`, or `job.*`, or `*`.
             * @example [
             *       "job.completed",
             *       "job.dead"
             *     ]
             */
            events: string[];
            /** @description The URL that receives the messages. */
            url: string;
        };
        /** @description Who the caller is. */
        WhoamiDocument: {
            /** Format: date-time */
            expires_at?: string | null;
            /** @description The id of the caller's key; `bootstrap` for the configured admin key, `null` if the server requires none. */
            key?: string | null;
            /** @description The tenant's limits in force. */
            limits: {
                [key: string]: components["schemas"]["LimitDocument"];
            };
            scopes: components["schemas"]["Scope"][];
            /** @description The tenant that the caller's requests apply to. */
            tenant: string;
        };
        WorkerDocument: {
            /** Format: date-time */
            heartbeat_at: string;
            /** @description The session: one run of the worker process. */
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
            /** @description The tasks it has handlers for; `null` if its version does not report them. */
            tasks?: string[] | null;
            version: string;
            worker: string;
        };
        /** @description `event: worker`. A worker started, is draining, stopped or died. */
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
             * @description Workers that lapsed recently.
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
             * @description The slots of all live workers.
             */
            slots: number;
        };
    };
    responses: {
        /** @description The body is too large */
        BodyTooLarge: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ProblemDocument"];
            };
        };
        /** @description It runs a command, and commands are not allowed or the key lacks `exec:command` */
        CommandForbidden: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ProblemDocument"];
            };
        };
        /** @description Commands are not allowed, or the key lacks the scope */
        CommandsOrScope: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ProblemDocument"];
            };
        };
        /** @description No such delivery */
        DeliveryNotFound: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ProblemDocument"];
            };
        };
        /** @description The key lacks the scope, or the request names another tenant */
        Forbidden: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ProblemDocument"];
            };
        };
        /** @description The request names a host that is not this server */
        HostRefused: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ProblemDocument"];
            };
        };
        /** @description Internal error, or the store is damaged; see the server's log */
        InternalError: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ProblemDocument"];
            };
        };
        /** @description The filter is not valid */
        InvalidFilter: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ProblemDocument"];
            };
        };
        /** @description The overlap is not valid, or this server has no FOREMAN_SECRET_KEY */
        InvalidOverlap: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ProblemDocument"];
            };
        };
        /** @description A parameter is unknown or invalid */
        InvalidParameter: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ProblemDocument"];
            };
        };
        /** @description Not a queue's name */
        InvalidQueueName: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ProblemDocument"];
            };
        };
        /** @description The request is not valid */
        InvalidRequest: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ProblemDocument"];
            };
        };
        /** @description Not a valid schedule */
        InvalidSchedule: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ProblemDocument"];
            };
        };
        /** @description It has not ended; `state` has its state */
        JobNotEnded: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ProblemDocument"];
            };
        };
        /** @description No such job */
        JobNotFound: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ProblemDocument"];
            };
        };
        /** @description No such tenant, or it has no such key */
        KeyNotFound: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ProblemDocument"];
            };
        };
        /** @description Not found, or the tenant in `Foreman-Tenant` does not exist */
        NotFound: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ProblemDocument"];
            };
        };
        /** @description The body is not sent as JSON */
        NotJson: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ProblemDocument"];
            };
        };
        /** @description Nothing was accepted: overloaded, stopping, or the store is unreachable */
        NothingAccepted: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ProblemDocument"];
            };
        };
        /** @description The request comes from a page of another server */
        OtherOrigin: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ProblemDocument"];
            };
        };
        /** @description The tenant's rate limit; `Retry-After` says when to try again */
        RateLimited: {
            headers: {
                "Retry-After"?: number;
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ProblemDocument"];
            };
        };
        /** @description The request did not arrive in time */
        RequestTimeout: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ProblemDocument"];
            };
        };
        /** @description No such schedule */
        ScheduleNotFound: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ProblemDocument"];
            };
        };
        /** @description The store has no space left */
        StoreFull: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ProblemDocument"];
            };
        };
        /** @description No such tenant */
        TenantNotFound: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ProblemDocument"];
            };
        };
        /** @description Too many requests, or too many wrong keys from this address */
        TooManyRequests: {
            headers: {
                "Retry-After"?: number;
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ProblemDocument"];
            };
        };
        /** @description The key is missing, unknown, expired or revoked */
        Unauthorized: {
            headers: {
                "WWW-Authenticate"?: string;
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ProblemDocument"];
            };
        };
        /** @description Overloaded, stopping, or the store is unreachable; send the request again */
        Unavailable: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ProblemDocument"];
            };
        };
        /** @description The request cannot be processed */
        Unprocessable: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ProblemDocument"];
            };
        };
        /** @description The version does not match; `version` has the current one */
        VersionMismatch: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ProblemDocument"];
            };
        };
        /** @description No such webhook */
        WebhookNotFound: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ProblemDocument"];
            };
        };
    };
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
                /** @description Only changes to objects of this tenant, which may have been deleted since. */
                tenant?: string;
                /** @description How many per page. */
                limit?: number;
                /** @description `next` of the previous page, unchanged. */
                cursor?: string;
            };
            header?: {
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
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
            400: components["responses"]["InvalidParameter"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            421: components["responses"]["HostRefused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
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
                /** @description Only jobs that ended with an error of this group: `group` of the list of groups. */
                error_group?: string;
                /** @description Only jobs submitted after this time. */
                created_after?: string;
                /** @description Only jobs submitted before this time. */
                created_before?: string;
                /** @description Jobs per page. */
                limit?: number;
                /** @description `next` of the previous page, unchanged. */
                cursor?: string;
            };
            header?: {
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
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
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            421: components["responses"]["HostRefused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
        };
    };
    list_dead_groups: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
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
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            421: components["responses"]["HostRefused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
        };
    };
    list_error_groups: {
        parameters: {
            query?: {
                /** @description Only jobs in this state: `failed` or `dead`. Defaults to both. */
                state?: components["schemas"]["State"];
            };
            header?: {
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
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
            400: components["responses"]["InvalidParameter"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            421: components["responses"]["HostRefused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
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
                /** @description Only jobs that ended with an error of this group: `group` of the list of groups. */
                error_group?: string;
                /** @description Only jobs submitted after this time. */
                created_after?: string;
                /** @description Only jobs submitted before this time. */
                created_before?: string;
                /** @description Jobs per page. */
                limit?: number;
                /** @description `next` of the previous page, unchanged. */
                cursor?: string;
                /**
                 * @description `payload`: include what was submitted with each job, as in a job document. A page then has at most 100 jobs and
                 *     1 MiB; `next` continues it.
                 */
                fields?: "payload";
            };
            header?: {
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
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
            400: components["responses"]["InvalidParameter"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            421: components["responses"]["HostRefused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
        };
    };
    submit_job: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request safe to repeat; 1 to 255 characters */
                "Idempotency-Key"?: string | null;
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
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
                    /** @description URL of the job */
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
                    /** @description URL of the job */
                    Location?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobDocument"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["CommandsOrScope"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["NotJson"];
            421: components["responses"]["HostRefused"];
            /** @description Not a valid job, or the idempotency key was used for another one */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["NothingAccepted"];
            507: components["responses"]["StoreFull"];
        };
    };
    submit_batch: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
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
            /** @description The result of each job */
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
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            /** @description Too many jobs, or too many bytes */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            415: components["responses"]["NotJson"];
            421: components["responses"]["HostRefused"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["NothingAccepted"];
            507: components["responses"]["StoreFull"];
        };
    };
    cancel_jobs: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
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
            400: components["responses"]["InvalidFilter"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["NotJson"];
            421: components["responses"]["HostRefused"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
        };
    };
    delete_jobs: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
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
            400: components["responses"]["InvalidFilter"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["NotJson"];
            421: components["responses"]["HostRefused"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
        };
    };
    retry_jobs: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
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
            400: components["responses"]["InvalidFilter"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["NotJson"];
            421: components["responses"]["HostRefused"];
            422: components["responses"]["Unprocessable"];
            /** @description The tenant's rate limit; `detail` says how many jobs were retried, `Retry-After` when to continue */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
        };
    };
    get_job: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
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
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["JobNotFound"];
            408: components["responses"]["RequestTimeout"];
            421: components["responses"]["HostRefused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
        };
    };
    delete_job: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
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
            /** @description Deleted */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["JobNotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["JobNotEnded"];
            421: components["responses"]["HostRefused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
        };
    };
    list_attempts: {
        parameters: {
            query?: {
                /** @description `attempts_next` of the job, or `next` of the previous page, unchanged. */
                cursor?: string;
            };
            header?: {
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
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
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["JobNotFound"];
            408: components["responses"]["RequestTimeout"];
            421: components["responses"]["HostRefused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
        };
    };
    cancel_job: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
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
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["JobNotFound"];
            408: components["responses"]["RequestTimeout"];
            /** @description It has already ended; `state` has the final state */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            421: components["responses"]["HostRefused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
        };
    };
    read_output: {
        parameters: {
            query?: {
                /** @description The first line to return; `next_line` of the previous response. */
                after?: number;
            };
            header?: {
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
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
            /** @description Lines, and where to continue */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OutputChunk"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            /** @description No such job, or no attempt of it is running on this server */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            408: components["responses"]["RequestTimeout"];
            421: components["responses"]["HostRefused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
        };
    };
    retry_job: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
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
            /** @description The job, queued again */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobDocument"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            /** @description Commands are not allowed, or the key lacks `exec:command` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            404: components["responses"]["JobNotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["JobNotEnded"];
            421: components["responses"]["HostRefused"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
        };
    };
    wait_for_job: {
        parameters: {
            query?: {
                /**
                 * @description How long to wait, at most `5m`. Defaults to `30s`.
                 * @example 30s
                 */
                timeout?: string;
            };
            header?: {
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
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
            /** @description The job: final, or unfinished when the timeout passed */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobDocument"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["JobNotFound"];
            408: components["responses"]["RequestTimeout"];
            421: components["responses"]["HostRefused"];
            /** @description The tenant has too many waiting requests; `Retry-After` says when to try again */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
        };
    };
    get_overview: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
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
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            421: components["responses"]["HostRefused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
        };
    };
    list_parked: {
        parameters: {
            query?: {
                /** @description How many per page. */
                limit?: number;
                /** @description `next` of the previous page, unchanged. */
                cursor?: string;
            };
            header?: {
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
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
                    "application/json": components["schemas"]["ListDocument_ParkedDocument"];
                };
            };
            400: components["responses"]["InvalidParameter"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            421: components["responses"]["HostRefused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
        };
    };
    list_queues: {
        parameters: {
            query?: {
                /** @description Only this queue, which may be Foreman's own: `foreman.webhooks` has the webhook deliveries. */
                queue?: string;
            };
            header?: {
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
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
            400: components["responses"]["InvalidParameter"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            421: components["responses"]["HostRefused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
        };
    };
    pause_queue: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
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
            /** @description Paused */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PauseAnswer"];
                };
            };
            400: components["responses"]["InvalidQueueName"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            421: components["responses"]["HostRefused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
        };
    };
    resume_queue: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
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
            /** @description Resumed */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PauseAnswer"];
                };
            };
            400: components["responses"]["InvalidQueueName"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            421: components["responses"]["HostRefused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
        };
    };
    list_schedules: {
        parameters: {
            query?: {
                /** @description How many per page. */
                limit?: number;
                /** @description `next` of the previous page, unchanged. */
                cursor?: string;
            };
            header?: {
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
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
            400: components["responses"]["InvalidParameter"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            421: components["responses"]["HostRefused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
        };
    };
    create_schedule: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
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
            /** @description Created */
            201: {
                headers: {
                    /** @description Its version and part of its id, in quotes */
                    ETag?: string;
                    /** @description URL of the schedule */
                    Location?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScheduleDocument"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["CommandsOrScope"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            /** @description The name is taken */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["NotJson"];
            421: components["responses"]["HostRefused"];
            422: components["responses"]["InvalidSchedule"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
        };
    };
    preview_unsaved_schedule: {
        parameters: {
            query?: {
                /** @description How many fires to show. */
                n?: number;
                /** @description Show fires from this time on. Defaults to now. */
                from?: string;
            };
            header?: {
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
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
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["NotJson"];
            421: components["responses"]["HostRefused"];
            422: components["responses"]["InvalidSchedule"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
        };
    };
    get_schedule: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `ETag` of an earlier answer */
                "If-None-Match"?: string | null;
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
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
                    /** @description Its version and part of its id, in quotes */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScheduleDocument"];
                };
            };
            /** @description Not modified */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["ScheduleNotFound"];
            408: components["responses"]["RequestTimeout"];
            421: components["responses"]["HostRefused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            /** @description Written by a later version that this server cannot read */
            501: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
        };
    };
    replace_schedule: {
        parameters: {
            query?: never;
            header?: {
                /** @description The expected `ETag` or version, such as `"3"`, or `*` */
                "If-Match"?: string | null;
                /** @description `*`: create only, do not replace */
                "If-None-Match"?: string | null;
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
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
                    /** @description Its version and part of its id, in quotes */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScheduleDocument"];
                };
            };
            /** @description Created */
            201: {
                headers: {
                    /** @description Its version and part of its id, in quotes */
                    ETag?: string;
                    /** @description URL of the schedule */
                    Location?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScheduleDocument"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            /** @description No schedule has this id */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            408: components["responses"]["RequestTimeout"];
            412: components["responses"]["VersionMismatch"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["NotJson"];
            421: components["responses"]["HostRefused"];
            422: components["responses"]["InvalidSchedule"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
        };
    };
    delete_schedule: {
        parameters: {
            query?: never;
            header?: {
                /** @description The expected `ETag` or version, such as `"3"`, or `*` */
                "If-Match"?: string | null;
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
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
            /** @description Deleted */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["ScheduleNotFound"];
            408: components["responses"]["RequestTimeout"];
            412: components["responses"]["VersionMismatch"];
            421: components["responses"]["HostRefused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
        };
    };
    update_schedule: {
        parameters: {
            query?: never;
            header?: {
                /** @description The expected `ETag` or version, such as `"3"`, or `*` */
                "If-Match"?: string | null;
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
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
                    /** @description Its version and part of its id, in quotes */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScheduleDocument"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["CommandForbidden"];
            404: components["responses"]["ScheduleNotFound"];
            408: components["responses"]["RequestTimeout"];
            412: components["responses"]["VersionMismatch"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["NotJson"];
            421: components["responses"]["HostRefused"];
            /** @description The result would not be a valid schedule */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
        };
    };
    pause_schedule: {
        parameters: {
            query?: never;
            header?: {
                /** @description The expected `ETag` or version, such as `"3"`, or `*` */
                "If-Match"?: string | null;
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
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
            /** @description Paused */
            200: {
                headers: {
                    /** @description Its version and part of its id, in quotes */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScheduleDocument"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["ScheduleNotFound"];
            408: components["responses"]["RequestTimeout"];
            412: components["responses"]["VersionMismatch"];
            421: components["responses"]["HostRefused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
        };
    };
    preview_schedule: {
        parameters: {
            query?: {
                /** @description How many fires to show. */
                n?: number;
                /** @description Show fires from this time on. Defaults to now. */
                from?: string;
            };
            header?: {
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
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
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["ScheduleNotFound"];
            408: components["responses"]["RequestTimeout"];
            421: components["responses"]["HostRefused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
        };
    };
    resume_schedule: {
        parameters: {
            query?: never;
            header?: {
                /** @description The expected `ETag` or version, such as `"3"`, or `*` */
                "If-Match"?: string | null;
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
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
            /** @description Resumed */
            200: {
                headers: {
                    /** @description Its version and part of its id, in quotes */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScheduleDocument"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["CommandForbidden"];
            404: components["responses"]["ScheduleNotFound"];
            408: components["responses"]["RequestTimeout"];
            412: components["responses"]["VersionMismatch"];
            421: components["responses"]["HostRefused"];
            /** @description It would never fire again */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
        };
    };
    run_schedule: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
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
                    /** @description URL of the job */
                    Location?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobDocument"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["CommandForbidden"];
            404: components["responses"]["ScheduleNotFound"];
            408: components["responses"]["RequestTimeout"];
            421: components["responses"]["HostRefused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
        };
    };
    list_ticks: {
        parameters: {
            query?: {
                /** @description How many per page. */
                limit?: number;
                /** @description `next` of the previous page, unchanged. */
                cursor?: string;
            };
            header?: {
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
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
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["ScheduleNotFound"];
            408: components["responses"]["RequestTimeout"];
            421: components["responses"]["HostRefused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
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
            /** @description Signed in; the cookie is in `Set-Cookie` */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WhoamiDocument"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            /** @description The key is unknown, expired or revoked */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            403: components["responses"]["OtherOrigin"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["NotJson"];
            421: components["responses"]["HostRefused"];
            422: components["responses"]["Unprocessable"];
            /** @description Too many wrong keys came from this address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
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
            /** @description Signed out */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["InvalidRequest"];
            403: components["responses"]["OtherOrigin"];
            408: components["responses"]["RequestTimeout"];
            421: components["responses"]["HostRefused"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
        };
    };
    get_statistics: {
        parameters: {
            query?: {
                /** @description The length of a bucket. */
                step?: components["schemas"]["Slot"];
                /** @description Start with the bucket that contains this time. Defaults to an hour (step `minute`) or a day (step `hour`) before `to`. */
                from?: string;
                /** @description Up to this time. Defaults to now. */
                to?: string;
                /** @description Only this queue. Defaults to all queues together. */
                queue?: string;
            };
            header?: {
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
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
            400: components["responses"]["InvalidParameter"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            421: components["responses"]["HostRefused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
        };
    };
    get_queue_statistics: {
        parameters: {
            query?: {
                /** @description The precision of the range's ends: a minute or an hour. */
                step?: components["schemas"]["Slot"];
                /** @description Start with the bucket that contains this time. Defaults to an hour (step `minute`) or a day (step `hour`) before `to`. */
                from?: string;
                /** @description Up to this time. Defaults to now. */
                to?: string;
            };
            header?: {
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
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
            400: components["responses"]["InvalidParameter"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            421: components["responses"]["HostRefused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
        };
    };
    stream: {
        parameters: {
            query?: {
                /** @description Only these jobs: comma-separated ids, at most 100. */
                job?: string;
                /** @description Only jobs of these queues, comma-separated, at most 20. */
                queue?: string;
                /** @description Only jobs of these kinds, comma-separated, at most 20. */
                kind?: string;
                /** @description Only jobs with one of these tags, comma-separated, at most 20. */
                tag?: string;
                /**
                 * @description Send the current state first: the jobs named by `job`, or the newest 1,000 that match. With several queues,
                 *     kinds or tags, only the newest 10,000 jobs are searched, and `complete` says whether that was all. Not sent to a
                 *     client that resumes.
                 */
                snapshot?: boolean;
                /** @description Resume after the event with this `id:`. */
                after?: string;
                /** @description A ticket instead of a key. */
                ticket?: string;
                /** @description The tenant, for operators who cannot send the header `Foreman-Tenant`. */
                tenant?: string;
            };
            header?: {
                /** @description The `id:` of the last event received; takes precedence over `after` */
                "Last-Event-ID"?: string | null;
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
                "Foreman-Tenant"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Events, until the client or the server disconnects */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": components["schemas"]["StreamEvent"];
                };
            };
            /** @description A parameter is unknown or invalid, or the URL contains a key */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            421: components["responses"]["HostRefused"];
            /** @description The tenant has too many open streams */
            429: {
                headers: {
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
        };
    };
    create_stream_ticket: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
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
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            421: components["responses"]["HostRefused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
        };
    };
    list_tenants: {
        parameters: {
            query?: {
                /** @description How many per page. */
                limit?: number;
                /** @description `next` of the previous page, unchanged. */
                cursor?: string;
            };
            header?: {
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
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
            400: components["responses"]["InvalidParameter"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            421: components["responses"]["HostRefused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
        };
    };
    create_tenant: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
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
            /** @description Created */
            201: {
                headers: {
                    /** @description Its version, in quotes */
                    ETag?: string;
                    /** @description URL of the tenant */
                    Location?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TenantDocument"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            /** @description The id is in use, or was used by a deleted tenant */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["NotJson"];
            421: components["responses"]["HostRefused"];
            /** @description Not a valid tenant */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
        };
    };
    get_tenant: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `ETag` of an earlier answer */
                "If-None-Match"?: string | null;
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
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
            /** @description Not modified */
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
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["TenantNotFound"];
            408: components["responses"]["RequestTimeout"];
            421: components["responses"]["HostRefused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
        };
    };
    delete_tenant: {
        parameters: {
            query?: never;
            header?: {
                /** @description The expected `ETag`, such as `"3"`, or `*` */
                "If-Match"?: string | null;
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
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
            /** @description Deleted */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["TenantNotFound"];
            408: components["responses"]["RequestTimeout"];
            /** @description It is not disabled, still has jobs or schedules, or is the default tenant */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            412: components["responses"]["VersionMismatch"];
            421: components["responses"]["HostRefused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
        };
    };
    update_tenant: {
        parameters: {
            query?: never;
            header?: {
                /** @description The expected `ETag`, such as `"3"`, or `*` */
                "If-Match"?: string | null;
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
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
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["TenantNotFound"];
            408: components["responses"]["RequestTimeout"];
            412: components["responses"]["VersionMismatch"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["NotJson"];
            421: components["responses"]["HostRefused"];
            /** @description The result would not be a valid tenant */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
        };
    };
    list_keys: {
        parameters: {
            query?: {
                /** @description How many per page. */
                limit?: number;
                /** @description `next` of the previous page, unchanged. */
                cursor?: string;
            };
            header?: {
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
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
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["TenantNotFound"];
            408: components["responses"]["RequestTimeout"];
            421: components["responses"]["HostRefused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
        };
    };
    create_key: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
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
            /** @description Created; the key is shown only in this response */
            201: {
                headers: {
                    /** @description URL of the key's record */
                    Location?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MadeKeyDocument"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["TenantNotFound"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["NotJson"];
            421: components["responses"]["HostRefused"];
            /** @description Not a valid key */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
        };
    };
    get_key: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
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
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["KeyNotFound"];
            408: components["responses"]["RequestTimeout"];
            421: components["responses"]["HostRefused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
        };
    };
    revoke_key: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
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
            /** @description Revoked */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeyDocument"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["KeyNotFound"];
            408: components["responses"]["RequestTimeout"];
            421: components["responses"]["HostRefused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
        };
    };
    rotate_key: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
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
            /** @description The new key, shown only in this response */
            201: {
                headers: {
                    /** @description URL of the new key's record */
                    Location?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MadeKeyDocument"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["KeyNotFound"];
            408: components["responses"]["RequestTimeout"];
            /** @description It is revoked or expired, or was already replaced */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["NotJson"];
            421: components["responses"]["HostRefused"];
            /** @description The grace period or the expiry is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
        };
    };
    rotate_signing_secret: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
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
            /** @description The secret, shown only in this response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SecretDocument"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["TenantNotFound"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["NotJson"];
            421: components["responses"]["HostRefused"];
            422: components["responses"]["InvalidOverlap"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
        };
    };
    delete_signing_secret: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
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
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["TenantNotFound"];
            408: components["responses"]["RequestTimeout"];
            421: components["responses"]["HostRefused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
        };
    };
    list_webhooks: {
        parameters: {
            query?: {
                /** @description How many per page. */
                limit?: number;
                /** @description `next` of the previous page, unchanged. */
                cursor?: string;
            };
            header?: {
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
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
            400: components["responses"]["InvalidParameter"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            421: components["responses"]["HostRefused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
        };
    };
    create_webhook: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
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
            /** @description Created */
            201: {
                headers: {
                    /** @description Its version, in quotes */
                    ETag?: string;
                    /** @description URL of the webhook */
                    Location?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookDocument"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            /** @description The tenant has reached its limit of webhooks */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["NotJson"];
            421: components["responses"]["HostRefused"];
            /** @description Not a valid webhook */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
        };
    };
    get_webhook: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
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
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["WebhookNotFound"];
            408: components["responses"]["RequestTimeout"];
            421: components["responses"]["HostRefused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
        };
    };
    delete_webhook: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
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
            /** @description Deleted */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["WebhookNotFound"];
            408: components["responses"]["RequestTimeout"];
            421: components["responses"]["HostRefused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
        };
    };
    update_webhook: {
        parameters: {
            query?: never;
            header?: {
                /** @description The expected version, such as `"3"`, or `*` */
                "If-Match"?: string | null;
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
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
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["WebhookNotFound"];
            408: components["responses"]["RequestTimeout"];
            412: components["responses"]["VersionMismatch"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["NotJson"];
            421: components["responses"]["HostRefused"];
            /** @description The result would not be a valid webhook */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
        };
    };
    list_deliveries: {
        parameters: {
            query?: {
                /** @description How many per page. */
                limit?: number;
                /** @description `next` of the previous page, unchanged. */
                cursor?: string;
            };
            header?: {
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
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
            400: components["responses"]["InvalidParameter"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["WebhookNotFound"];
            408: components["responses"]["RequestTimeout"];
            421: components["responses"]["HostRefused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
        };
    };
    get_delivery: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
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
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["DeliveryNotFound"];
            408: components["responses"]["RequestTimeout"];
            421: components["responses"]["HostRefused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
        };
    };
    resend_delivery: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
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
            /** @description The delivery, queued again */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeliveryDocument"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["DeliveryNotFound"];
            408: components["responses"]["RequestTimeout"];
            /** @description It is already being delivered; `state` has its state */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            421: components["responses"]["HostRefused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
        };
    };
    rotate_webhook_secret: {
        parameters: {
            query?: never;
            header?: {
                /** @description The expected version, such as `"3"`, or `*` */
                "If-Match"?: string | null;
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
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
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["WebhookNotFound"];
            408: components["responses"]["RequestTimeout"];
            412: components["responses"]["VersionMismatch"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["NotJson"];
            421: components["responses"]["HostRefused"];
            422: components["responses"]["InvalidOverlap"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
        };
    };
    test_webhook: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
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
            /** @description The delivery, queued */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeliveryDocument"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["WebhookNotFound"];
            408: components["responses"]["RequestTimeout"];
            /** @description The webhook is disabled */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            421: components["responses"]["HostRefused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
        };
    };
    whoami: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
                "Foreman-Tenant"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The caller */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WhoamiDocument"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            421: components["responses"]["HostRefused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
        };
    };
    list_workers: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
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
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            421: components["responses"]["HostRefused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
        };
    };
    list_worker_jobs: {
        parameters: {
            query?: never;
            header?: {
                /** @description The tenant to act on, for operators; defaults to the key's own tenant */
                "Foreman-Tenant"?: string;
            };
            path: {
                /** @description The worker's id (not its name), from the list of workers */
                worker: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Its jobs, of all tenants */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListDocument_HeldDocument"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            /** @description No such worker */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            408: components["responses"]["RequestTimeout"];
            421: components["responses"]["HostRefused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
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
            /** @description Alive */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            408: components["responses"]["RequestTimeout"];
            421: components["responses"]["HostRefused"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
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
            400: components["responses"]["InvalidRequest"];
            408: components["responses"]["RequestTimeout"];
            421: components["responses"]["HostRefused"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["StoreFull"];
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
            /** @description Ready */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Ready"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            408: components["responses"]["RequestTimeout"];
            421: components["responses"]["HostRefused"];
            500: components["responses"]["InternalError"];
            /** @description Not ready; `checks` says why */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Ready"];
                };
            };
            507: components["responses"]["StoreFull"];
        };
    };
}
