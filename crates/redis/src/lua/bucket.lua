-- Takes from a token bucket, all or none: crates/core/src/tenant/bucket.rs in the arithmetic that Redis has.
--
-- KEYS[1]  the bucket: "missing at", absent while it is full
-- ARGV[1]  tokens a second, at most 2^52
-- ARGV[2]  how much a full bucket holds, in millionths of a token, at most 2^32 tokens
-- ARGV[3]  how much is wanted, in the same, at most one token more than 2^32; 0 looks and writes nothing
--
-- Answers missing and at as they were, and the time: whoever asks computes the answer from them as it would alone.
--
-- Numbers are doubles, exact up to 2^53 = 9.0e15. Times in microseconds are 1.8e15; missing is at most 4.3e15, and together with
-- what is wanted 8.6e15. The one product is of less than what is missing and a rate. `%` and `/` round; fmod does not.

local function ceil_div(a, b)
    local rest = math.fmod(a, b)
    return (a - rest) / b + (rest > 0 and 1 or 0)
end

local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000000 + tonumber(clock[2])
local rate, full, wanted = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])

local missing, at = 0, 0
local kept = redis.call('GET', KEYS[1])
if kept then
    local m, a = string.match(kept, '^(%d+) (%d+)$')
    missing, at = tonumber(m) or 0, tonumber(a) or 0
end
local answer = { missing, at, now }
if wanted == 0 then
    return answer
end

-- What has come since, but for what would be more than is missing.
local elapsed = math.max(now - at, 0)
if rate > 0 and missing > 0 then
    if elapsed >= ceil_div(missing, rate) then
        missing = 0
    else
        missing = missing - elapsed * rate
    end
end
missing = math.min(missing, full)
-- Never back, and no further ahead than it takes to fill.
if full == 0 then
    at = math.min(at, now)
elseif rate > 0 then
    at = math.min(at, now + ceil_div(full, rate))
end
at = math.max(at, now)

if missing + wanted <= full then
    missing = missing + wanted
end
if missing == 0 then
    redis.call('DEL', KEYS[1])
else
    -- It goes when it is full again. One that never fills is kept for a day after its last use.
    local ttl = 86400000
    if rate > 0 then
        ttl = ceil_div(at - now + ceil_div(missing, rate), 1000) + 1000
    end
    redis.call('SET', KEYS[1], string.format('%.0f %.0f', missing, at), 'PX', string.format('%.0f', ttl))
end
return answer
