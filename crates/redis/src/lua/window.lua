-- Notes members in the window under way, all or none.
--
-- KEYS[1]   the set of those that were noted; it goes when the window ends
-- ARGV[1]   how many there may be
-- ARGV[2]   how long a window is, in milliseconds
-- ARGV[3..] the members
--
-- Answers 0 when they are noted, otherwise in how many milliseconds the next window begins.

local most, length = tonumber(ARGV[1]), tonumber(ARGV[2])
local new, known = {}, {}
for i = 3, #ARGV do
    local member = ARGV[i]
    if not known[member] then
        known[member] = true
        if redis.call('SISMEMBER', KEYS[1], member) == 0 then
            new[#new + 1] = member
        end
    end
end
if #new == 0 then
    return 0
end
local left = redis.call('PTTL', KEYS[1])
if left <= 0 then
    left = length
end
if redis.call('SCARD', KEYS[1]) + #new > most then
    return math.max(left, 1)
end
for _, member in ipairs(new) do
    redis.call('SADD', KEYS[1], member)
end
redis.call('PEXPIRE', KEYS[1], left)
return 0
