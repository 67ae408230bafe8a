-- Takes the hint that lets a contender ask the database for the lease.
--
-- KEYS[1]  the hint: who has it; absent while nobody does
-- ARGV[1]  who asks
-- ARGV[2]  for how long, in milliseconds
--
-- Answers 0 when whoever asks has it now, otherwise for how many milliseconds it is another's.

local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then
    return math.max(redis.call('PTTL', KEYS[1]), 1)
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 0
