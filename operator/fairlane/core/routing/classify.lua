-- Chooses the lane of a request: Envoy's Lua filter (LuaJIT, no JSON library), one state for each worker.
-- It reads at most `body_limit` bytes, changes no byte of the body, and tells the route by the headers x-fairlane-class (the lane) and
-- x-fairlane-stream (1, 0, unknown). Constants come with the route (core/routing/ladder.py). Whatever fails here ends in the default lane.

local sfind, ssub, sbyte, smatch, sformat, ceil = string.find, string.sub, string.byte, string.match, string.format, math.ceil

-- The JSON scanner -----------------------------------------------------------------------------------------------------------------
-- Strict where the engine's parser is strict; where it cannot be sure it raises an error or sets `uncertain`, it never guesses low.

local SKIP, TEXT, TOP, RAW, PROMPT, ARGS, IMAGE, UNKNOWN, LIMIT, STREAM = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
local MAX_DEPTH = 64

local TOP_KEYS = {
  messages = TEXT, prompt = PROMPT, input = PROMPT, instructions = TEXT, system = TEXT, suffix = TEXT, chat_template = TEXT,
  chat_template_kwargs = RAW, tools = RAW, functions = RAW, documents = TEXT, query = TEXT, queries = TEXT, text_1 = TEXT, text_2 = TEXT,
  data_1 = TEXT, data_2 = TEXT, prompt_embeds = UNKNOWN, previous_response_id = UNKNOWN, conversation = UNKNOWN,
  max_tokens = LIMIT, max_completion_tokens = LIMIT, max_output_tokens = LIMIT, stream = STREAM,
}
-- Inside messages and items every string counts but these. Sound, video and files: no size can be told from their bytes.
local INNER_KEYS = {
  type = SKIP, detail = SKIP, cache_control = SKIP, arguments = ARGS, input = ARGS, image_url = IMAGE, image = IMAGE, source = UNKNOWN,
  input_audio = UNKNOWN, audio_url = UNKNOWN, audio = UNKNOWN, video_url = UNKNOWN, video = UNKNOWN, file = UNKNOWN, file_data = UNKNOWN,
  image_embeds = UNKNOWN, audio_embeds = UNKNOWN, image_pil = UNKNOWN, file_id = UNKNOWN, file_url = UNKNOWN,
}
local HEX = {}
for d = 0, 9 do HEX[48 + d] = d end
for d = 10, 15 do HEX[55 + d] = d; HEX[87 + d] = d end
local ESCAPES = { [34] = true, [47] = true, [92] = true, [98] = true, [102] = true, [110] = true, [114] = true, [116] = true }

local S, bytes, ids, images, uncertain, surplus, asked, stream   -- of the scan under way; a scan never yields

local function hex4(p)
  local a, b, c, d = sbyte(S, p, p + 3)
  return HEX[a] * 4096 + HEX[b] * 256 + HEX[c] * 16 + HEX[d]
end

local function spaces(i)
  local c = sbyte(S, i)
  while c == 32 or c == 10 or c == 13 or c == 9 do
    i = i + 1
    c = sbyte(S, i)
  end
  return i, c
end

-- S[i] is the quote; returns where the string ends and its length in UTF-8 bytes, escapes resolved.
local function string_at(i)
  local p, n = i + 1, 0
  while true do
    local q = sfind(S, '[%z\1-\31"\\]', p)
    n = n + q - p
    local c = sbyte(S, q)
    if c == 34 then
      surplus = surplus + (q - i - 1) - n
      return q, n
    end
    if c ~= 92 then error('control character') end
    c = sbyte(S, q + 1)
    if ESCAPES[c] then
      n, p = n + 1, q + 2
    elseif c ~= 117 then error('escape')
    else
      while c == 117 do                       -- a run of \uXXXX: escaped Chinese has nothing else
        local v = hex4(q + 2)
        q = q + 6
        if v < 0x80 then n = n + 1
        elseif v < 0x800 then n = n + 2
        elseif v >= 0xD800 and v < 0xDC00 and sbyte(S, q) == 92 and sbyte(S, q + 1) == 117 and HEX[sbyte(S, q + 2)] == 13 and HEX[sbyte(S, q + 3)] >= 12 then
          hex4(q + 2)
          n, q = n + 4, q + 6
        else n = n + 3 end
        p = q
        if sbyte(S, q) ~= 92 then break end
        c = sbyte(S, q + 1)
      end
    end
  end
end

local function digits(i)
  local c = sbyte(S, i)
  if not c or c < 48 or c > 57 then error('number') end
  repeat
    i = i + 1
    c = sbyte(S, i)
  until not c or c < 48 or c > 57
  return i, c
end

local function number_at(i)
  if sbyte(S, i) == 45 then i = i + 1 end
  local first = i
  local j, c = digits(i)
  if j - first > 1 and sbyte(S, first) == 48 then error('leading zero') end
  if c == 46 then j, c = digits(j + 1) end
  if c == 101 or c == 69 then
    c = sbyte(S, j + 1)
    j = digits((c == 43 or c == 45) and j + 2 or j + 1)
  end
  return j - 1
end

local value

local function raw(i, depth)
  local before = surplus
  local e = value(i, SKIP, depth)
  bytes = bytes + (e - i + 1) - (surplus - before)
  return e
end

local function limit(i, depth)
  local e = value(i, SKIP, depth)
  local text = ssub(S, i, e)
  if text == 'null' then return e end
  local n = tonumber(text) or tonumber((text:gsub('[%s_"]', '')))   -- engines take "1_000" for a number
  if not n then uncertain = true
  elseif not asked or n > asked then asked = n end
  return e
end

local function member(i, mode, depth)
  if mode == SKIP or mode == TEXT or mode == PROMPT or mode == TOP then return value(i, mode, depth) end
  if mode == RAW then return raw(i, depth) end
  if mode == LIMIT then return limit(i, depth) end
  if mode == ARGS then
    if sbyte(S, i) == 34 then return value(i, TEXT, depth) end
    return raw(i, depth)
  end
  local e = value(i, SKIP, depth)
  local text = e - i < 5 and ssub(S, i, e) or ''
  if mode == STREAM then
    stream = (text == 'true' and '1') or ((text == 'false' or text == 'null') and '0') or 'unknown'
  elseif text ~= 'null' then
    if mode == IMAGE then images = images + 1 else uncertain = true end
  end
  return e
end

local function object(i, mode, depth)
  local top, seen, c = mode == TOP, nil, nil
  local keys = (top and TOP_KEYS) or (mode ~= SKIP and INNER_KEYS) or nil
  if top then seen = {} end
  i, c = spaces(i + 1)
  if c == 125 then return i end
  while true do
    if c ~= 34 then error('key') end
    local e = string_at(i)
    local child = SKIP
    if keys then
      local key = ssub(S, i + 1, e - 1)
      child = keys[key] or (top and SKIP or TEXT)
      if top then
        if seen[key] or sfind(key, '\\', 1, true) then uncertain = true end   -- which of two counts is the engine's secret
        seen[key] = true
      end
    end
    i, c = spaces(e + 1)
    if c ~= 58 then error('colon') end
    i, c = spaces(i + 1)
    i, c = spaces(member(i, child, depth) + 1)
    if c == 125 then return i end
    if c ~= 44 then error('comma') end
    i, c = spaces(i + 1)
  end
end

local function array(i, mode, depth)
  local c
  i, c = spaces(i + 1)
  if c == 93 then return i end
  while true do
    i, c = spaces(value(i, mode, depth) + 1)
    if c == 93 then return i end
    if c ~= 44 then error('comma') end
    i = spaces(i + 1)
  end
end

value = function(i, mode, depth)
  if depth > MAX_DEPTH then error('depth') end
  local c = sbyte(S, i)
  if c == 34 then
    local e, n = string_at(i)
    if mode == TEXT or mode == PROMPT then bytes = bytes + n end
    return e
  elseif c == 123 then return object(i, mode == PROMPT and TEXT or mode, depth + 1)
  elseif c == 91 then return array(i, mode, depth + 1)
  elseif c == 116 and ssub(S, i, i + 3) == 'true' then return i + 3
  elseif c == 102 and ssub(S, i, i + 4) == 'false' then return i + 4
  elseif c == 110 and ssub(S, i, i + 3) == 'null' then return i + 3
  end
  local e = number_at(i)
  if mode == PROMPT then ids = ids + 1 end   -- a token id
  return e
end

local function scan(text)
  S, bytes, ids, images, uncertain, surplus, asked, stream = text, 0, 0, 0, false, 0, nil, '0'
  local i, c = spaces(1)
  if c ~= 123 then error('no object') end
  i, c = spaces(object(i, TOP, 1) + 1)
  if c then error('text after the object') end
end

-- The choice -----------------------------------------------------------------------------------------------------------------------

local held_version, held_table

local function constants(h)
  local context = h:filterContext()
  local version = context:get('version')
  if version ~= held_version then held_table, held_version = context:get('table'), version end
  return held_table
end

-- seen.kind: read (tokens known), unread (longer than the limit), unreadable, none (no body)
local function fits(k, lane, seen)
  if not lane.max_prompt then return true end
  if seen.kind == 'read' then return seen.tokens <= lane.max_prompt end
  if seen.kind == 'unread' then
    local top = k.lanes[k.longest].max_prompt
    return top ~= nil and lane.max_prompt >= top
  end
  return seen.kind == 'none'
end

local function choose(k, want, caller, seen)
  local lane = want and k.lanes[want]
  if lane and lane.named and fits(k, lane, seen) then return want, 'named' end
  local of_caller = caller and k.callers[caller]
  if of_caller and fits(k, k.lanes[of_caller], seen) then return of_caller, 'caller' end
  if seen.kind == 'read' then
    for _, name in ipairs(k.sizes) do
      if seen.tokens <= k.lanes[name].max_prompt then return name, 'size' end
    end
  elseif seen.kind == 'unread' then return k.longest, 'unread'
  elseif seen.kind == 'unreadable' then return k.default, 'unreadable'
  end
  return k.default, 'default'
end

local function look(h, k, length, encoding)
  if length and length > k.body_limit then return { kind = 'unread', stream = 'unknown' } end
  local body = h:body()                        -- yields until the body is whole; header handles taken before are dead after
  if not body or body:length() == 0 then return { kind = 'none', stream = '0' } end
  if body:length() > k.body_limit then return { kind = 'unread', stream = 'unknown' } end
  if encoding and encoding ~= 'identity' then return { kind = 'unreadable', stream = 'unknown' } end
  local ok = pcall(scan, body:getBytes(0, body:length()))
  S = nil
  if not ok or uncertain then return { kind = 'unreadable', stream = 'unknown', asked = ok and asked or nil } end
  return { kind = 'read', tokens = ceil(bytes / k.bytes_per_token) + ids + images * k.image_tokens, asked = asked, stream = stream }
end

local function refuse(h, lane, most, wanted)
  h:headers():replace('x-fairlane-refused', '1')
  local shown = sformat(wanted < 1e15 and '%.0f' or '%.3g', wanted)
  h:respond({ [':status'] = '400' }, sformat(
    '{"error":{"message":"The request asks for %s output tokens; lane %s allows at most %.0f. Ask for fewer or use another lane.",'
    .. '"type":"invalid_request_error","param":"max_tokens","code":"max_output_tokens_exceeded"}}', shown, lane, most))
end

local function reject(h)
  h:respond({ [':status'] = '403' }, 'The header x-fairlane-synthetic carries no key of a lane that takes synthetic requests now and fits this one; leave it out.')
end

local function strip(headers)
  local found = {}
  for name in pairs(headers) do
    if ssub(name, 1, 11) == 'x-fairlane-' then found[#found + 1] = name end
  end
  for _, name in ipairs(found) do headers:remove(name) end
end

local function classify(h)
  local headers = h:headers()
  local want, key = headers:get('x-fairlane-lane'), headers:get('x-fairlane-synthetic')
  strip(headers)
  local k = constants(h)
  local lane, rest = smatch(headers:get(':path'), '^/lanes/([a-z0-9-]+)(/.*)$')
  if lane then
    want = lane
    headers:replace(':path', rest)
  end
  local tried = key and k.synthetic[key]
  if key and not tried then return reject(h) end
  local caller = headers:get(k.caller_header)
  local post = headers:get(':method') == 'POST'
  local seen = post and look(h, k, tonumber(headers:get('content-length') or ''), headers:get('content-encoding')) or { kind = 'none', stream = '0' }
  if tried and not fits(k, k.lanes[tried], seen) then return reject(h) end
  local name, rule = tried, 'synthetic'
  if not tried then name, rule = choose(k, want, caller, seen) end
  headers = h:headers()
  headers:replace('x-fairlane-class', name)
  headers:replace('x-fairlane-rule', rule)
  headers:replace('x-fairlane-stream', seen.stream)
  if tried then headers:replace('x-fairlane-synthetic', '1') end
  if seen.tokens then headers:replace('x-fairlane-tokens', sformat('%d', seen.tokens)) end
  if seen.asked then headers:replace('x-fairlane-asked', sformat('%.0f', seen.asked)) end
  h:clearRouteCache()
  local most = k.lanes[name].max_output
  if most and seen.asked and seen.asked > most then refuse(h, name, most, seen.asked) end
end

function envoy_on_request(h)
  local ok, problem = pcall(classify, h)
  if ok then return end
  h:logErr('fairlane: a request was not classified and goes to the default lane: ' .. tostring(problem))
  h:headers():replace('x-fairlane-rule', 'error')
end
