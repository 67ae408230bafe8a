-- Gives the hint back, if it is still that of whoever asks: another's is never touched.
--
-- KEYS[1]  the hint
-- ARGV[1]  who asks

if redis.call('GET', KEYS[1]) == ARGV[1] then
    redis.call('DEL', KEYS[1])
end
return 0
