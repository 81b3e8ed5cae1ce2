-- Neovim as a user's editor: it does the steps of a plan with its own client of the Language Server Protocol, and writes what it shows and how long
-- answers take. $OPGEN_PLAN names the plan, in JSON: server (a command), root, steps, pace and report (a file).
--
-- A key is an edit of a buffer, of which Neovim tells the server by an incremental change. Findings are settled when the server has published
-- those of the file that changed last, in its version, and after that those of every other open file.
local api, uv = vim.api, vim.loop
local plan = vim.json.decode(table.concat(vim.fn.readfile(os.getenv('OPGEN_PLAN')), '\n'))
local report = { moments = {}, keys = {}, settled = {}, answers = {}, failures = {}, version = vim.fn.matchstr(vim.fn.execute('version'), 'NVIM v[0-9.]*') }
local client_id, where
local order = 0         -- of publications
local published = {}    -- by buffer: order and version of the last ones
local pending = {}      -- by buffer: the version and the time of a change whose findings are awaited
local settled = {}      -- by buffer: the order of the findings that came for it
local changed           -- the buffer that changed last
local began = 0         -- when the present key was pressed
local row, col = 0, 0   -- the cursor in the current buffer, in bytes

local function fail(text, ...)
  table.insert(report.failures, where .. ': ' .. string.format(text, ...))
end

-- elapsed returns milliseconds since a time.
local function elapsed(since) return (uv.hrtime() - since) / 1e6 end

local function await(what, holds)
  if not vim.wait(120000, holds, 1) then
    fail('%s does not come within 120 s', what)
    return false
  end
  return true
end

vim.lsp.handlers['textDocument/publishDiagnostics'] = (function(show)
  return function(err, result, ctx, config)
    local buf = vim.uri_to_bufnr(result.uri)
    order = order + 1
    published[buf] = { order = order, version = result.version }
    local p = pending[buf]
    if p and result.version == p.version then
      table.insert(report.keys, elapsed(p.begin))
      pending[buf], settled[buf] = nil, order
    elseif p and result.version and result.version > p.version then
      fail('findings of version %s, but the newest text is version %s', result.version, p.version)
    end
    return show(err, result, ctx, config)
  end
end)(vim.lsp.handlers['textDocument/publishDiagnostics'])

vim.lsp.handlers['window/logMessage'] = function(_, result) fail('the server logs: %s', result.message) end
vim.lsp.handlers['window/showMessage'] = vim.lsp.handlers['window/logMessage']

-- open lists the buffers that the server knows.
local function open()
  return vim.tbl_filter(function(b) return vim.lsp.buf_is_attached(b, client_id) end, api.nvim_list_bufs())
end

-- changing makes changes of texts, whose time is that of the beginning.
local function changing(change)
  began = uv.hrtime()
  return change()
end

-- watch notes changes of a buffer, in the order in which Neovim tells the server.
local function watch(buf)
  api.nvim_buf_attach(buf, false, { on_lines = function(_, _, tick)
    pending[buf], changed = { version = tick, begin = began }, buf
  end })
end

-- settle waits for the findings of the newest texts.
local function settle()
  local begin = uv.hrtime()
  await('findings of the newest text', function()
    if not changed then return true end
    if pending[changed] then return false end
    for _, b in ipairs(open()) do
      if not published[b] or b ~= changed and published[b].order < settled[changed] then return false end
    end
    return true
  end)
  pending = {} -- of other files that changed at the same time
  table.insert(report.settled, elapsed(begin))
end

local function text(buf)
  return table.concat(api.nvim_buf_get_lines(buf, 0, -1, true), '\n') .. (vim.bo[buf].eol and '\n' or '')
end

local function relative(buf)
  local name = api.nvim_buf_get_name(buf)
  return name:sub(1, #plan.root + 1) == plan.root .. '/' and name:sub(#plan.root + 2) or name
end

-- note writes down all texts and what is shown.
local function note()
  local m = { where = where, texts = {}, shown = {} }
  for _, b in ipairs(open()) do m.texts[relative(b)] = text(b) end
  for _, d in ipairs(vim.diagnostic.get()) do
    local lsp = d.user_data and d.user_data.lsp or {}
    table.insert(m.shown, { file = relative(d.bufnr), line = d.lnum, column = d.col, end_line = d.end_lnum, end_column = d.end_col, code = d.code or lsp.code or '', message = d.message })
  end
  table.insert(report.moments, m)
end

-- find returns where a text begins in the current buffer, which must have it once, or where it ends.
local function find(part, ends)
  local all = text(0)
  local at = all:find(part, 1, true)
  if not at or all:find(part, at + 1, true) then
    error(string.format('%s: want one place of %q in\n%s', where, part, all))
  end
  local before = all:sub(1, at - 1) .. (ends and part or '')
  local _, lines = before:gsub('\n', '')
  return lines, #before:match('[^\n]*$')
end

local function cursor()
  api.nvim_win_set_cursor(0, { row + 1, col })
end

-- ask sends a request about the place of the cursor, and returns the answer.
local function ask(method, more)
  cursor()
  local params = vim.lsp.util.make_position_params(0, 'utf-16')
  for k, v in pairs(more or {}) do params[k] = v end
  local done, err, result = false, nil, nil
  local begin = uv.hrtime()
  vim.lsp.get_client_by_id(client_id).request(method, params, function(e, r)
    if not done then table.insert(report.answers, { method = method, ms = elapsed(begin) }) end
    done, err, result = true, e, r
  end, api.nvim_get_current_buf())
  await(method, function() return done end)
  if err then fail('%s: %s', method, vim.inspect(err)) end
  return result
end

-- acting starts one of Neovim's actions, which changes texts when its answer comes.
local function acting(what, action)
  cursor()
  local before = {}
  for _, b in ipairs(open()) do before[b] = api.nvim_buf_get_changedtick(b) end
  local begin = uv.hrtime()
  changing(function()
    action()
    await(what, function()
      for b, tick in pairs(before) do
        if api.nvim_buf_get_changedtick(b) ~= tick then return true end
      end
      return false
    end)
    vim.wait(5) -- an edit of several files is one event
  end)
  table.insert(report.answers, { method = what, ms = elapsed(begin) - 5 })
end

local function current() return relative(api.nvim_get_current_buf()) end

local function edit(path)
  if current() ~= path then vim.cmd('silent edit ' .. vim.fn.fnameescape(plan.root .. '/' .. path)) end
  local buf = api.nvim_get_current_buf()
  if not vim.lsp.buf_is_attached(buf, client_id) then
    vim.bo[buf].filetype = path:match('%.go$') and 'go' or 'toml'
    watch(buf)
    local version = api.nvim_buf_get_changedtick(buf)
    vim.lsp.buf_attach_client(buf, client_id)
    changed, pending[buf] = buf, { version = vim.fn.has('nvim-0.8') == 1 and version or 0, begin = uv.hrtime() }
  end
  row, col = 0, 0
end

-- key presses a key, which is one change.
local function key(k)
  changing(function()
    if k == '\n' then
      api.nvim_buf_set_text(0, row, col, row, col, { '', '' })
      row, col = row + 1, 0
    else
      api.nvim_buf_set_text(0, row, col, row, col, { k })
      col = col + #k
    end
  end)
end

local function backspace()
  changing(function()
    if col == 0 then
      if row == 0 then error(where .. ': nothing is in front of the cursor') end
      local above = api.nvim_buf_get_lines(0, row - 1, row, true)[1]
      api.nvim_buf_set_text(0, row - 1, #above, row, 0, { '' })
      row, col = row - 1, #above
      return
    end
    local front = api.nvim_buf_get_lines(0, row, row + 1, true)[1]:sub(1, col)
    local start = #front
    while start > 1 and front:byte(start) >= 0x80 and front:byte(start) < 0xc0 do start = start - 1 end
    api.nvim_buf_set_text(0, row, start - 1, row, col, { '' })
    col = start - 1
  end)
end

-- pause lets the time pass that a step takes; with pace 0, until the findings are there.
local judged = 0
local function pause(ms)
  if plan.pace > 0 then
    vim.wait(ms / plan.pace)
    return
  end
  settle()
  judged = judged + 1
  if judged % plan.every == 0 then note() end
end

local steps = {}
function steps.open(s) edit(s.path) end
-- apart ends what one undo takes back.
local function apart() vim.cmd('let &g:undolevels = &g:undolevels') end

function steps.type(s)
  apart()
  for i, k in ipairs(s.keys) do
    key(k)
    pause(s.gaps[i])
  end
end
function steps.erase(s)
  for i = 1, #s.gaps do
    backspace()
    pause(s.gaps[i])
  end
end
function steps.before(s) row, col = find(s.text) end
function steps.after(s) row, col = find(s.text, true) end
function steps.top() row, col = 0, 0 end
function steps.bottom()
  row = api.nvim_buf_line_count(0) - 1
  col = #api.nvim_buf_get_lines(0, row, row + 1, true)[1]
end
-- normal does commands of the normal mode at the cursor.
function steps.normal(s)
  row = math.min(row, api.nvim_buf_line_count(0) - 1)
  col = math.min(col, #api.nvim_buf_get_lines(0, row, row + 1, true)[1])
  cursor()
  apart()
  changing(function() vim.cmd('silent! execute "normal! ' .. s.text .. '"') end)
  row, col = unpack(api.nvim_win_get_cursor(0))
  row = row - 1
  pause(500)
end
function steps.command(s)
  apart()
  changing(function() vim.cmd('silent ' .. s.text) end)
  pause(500)
end
-- change replaces some characters at a millionth of the text.
function steps.change(s)
  local lines = api.nvim_buf_get_lines(0, 0, -1, true)
  local all = table.concat(lines, '\n')
  local count = vim.str_utfindex(all)
  local first = math.floor(count * s.at / 1e6)
  local place = function(character)
    local before = all:sub(1, vim.str_byteindex(all, character))
    local _, line = before:gsub('\n', '')
    return line, #before:match('[^\n]*$')
  end
  local r1, c1 = place(first)
  local r2, c2 = place(math.min(count, first + s.length))
  apart()
  changing(function() api.nvim_buf_set_text(0, r1, c1, r2, c2, vim.split(s.text, '\n')) end)
  row, col = r1, c1
  pause(500)
end
-- rest ends with a look at all findings. codes are those of the present file, or nil for any.
function steps.rest(s)
  if plan.pace > 0 then vim.wait(s.seconds * 1000 / plan.pace) end
  settle()
  local last -- findings of files that are not open come behind those of others
  repeat
    last = order
    vim.wait(plan.pace > 0 and 300 or 30)
  until order == last
  note()
  if not s.codes then return end
  local got, messages = {}, {}
  for _, d in ipairs(vim.diagnostic.get(0)) do
    table.insert(got, d.code or d.user_data.lsp.code)
    table.insert(messages, d.message)
  end
  table.sort(got)
  if table.concat(got, ' ') ~= s.codes then fail('want the findings %q in %s, got %q: %s\n%s', s.codes, current(), table.concat(got, ' '), table.concat(messages, '\n'), text(0)) end
end
function steps.hover(s)
  local r = ask('textDocument/hover')
  local lines = r and table.concat(vim.lsp.util.convert_input_to_markdown_lines(r.contents), '\n') or ''
  if not lines:find(s.text, 1, true) then fail('hover: want %q, got %q', s.text, lines) end
end
-- complete takes an item of the list.
function steps.complete(s)
  local r = ask('textDocument/completion', { context = { triggerKind = 1 } })
  local labels = {}
  for _, item in ipairs(r and (r.items or r) or {}) do
    table.insert(labels, item.label)
    if item.label == s.text then
      changing(function() vim.lsp.util.apply_text_edits({ item.textEdit }, api.nvim_get_current_buf(), 'utf-16') end)
      local line = api.nvim_buf_get_lines(0, row, row + 1, true)[1]
      col = vim.str_byteindex(line, item.textEdit.range.start.character, true) + #item.textEdit.newText
      pause(500)
      return
    end
  end
  fail('completion: want %q among %s', s.text, table.concat(labels, ' '))
end
function steps.define(s)
  local r = ask('textDocument/definition')
  if not r or #r == 0 then return fail('definition of the name in %s: none', current()) end
  local from, row_from, col_from = current(), row, col
  local jump = vim.lsp.util.show_document or vim.lsp.util.jump_to_location
  jump(r[1], 'utf-16')
  local at = api.nvim_win_get_cursor(0)
  local there = api.nvim_get_current_line():sub(at[2] + 1)
  if current() ~= s.path or there:sub(1, #s.text) ~= s.text then fail('definition: want %s %q, got %s %q', s.path, s.text, current(), there) end
  edit(from)
  row, col = row_from, col_from
end
function steps.refer(s)
  local r = ask('textDocument/references', { context = { includeDeclaration = true } })
  local got = {}
  for _, item in ipairs(vim.lsp.util.locations_to_items(r or {}, 'utf-16')) do
    table.insert(got, item.filename:sub(#plan.root + 2) .. ':' .. item.text:match('^[%w_]*', item.col))
  end
  table.sort(got)
  table.sort(s.paths)
  if table.concat(got, ' ') ~= table.concat(s.paths, ' ') then fail('references: want %s, got %s', table.concat(s.paths, ' '), table.concat(got, ' ')) end
end
function steps.symbols(s)
  local r = ask('textDocument/documentSymbol')
  local got = {}
  for _, item in ipairs(vim.lsp.util.symbols_to_items(r or {}, 0)) do table.insert(got, (item.text:gsub('^%[.-%] ', ''))) end
  if not (' ' .. table.concat(got, ' ') .. ' '):find(' ' .. s.text .. ' ', 1, true) then fail('symbols: want %q among %s', s.text, table.concat(got, ' ')) end
end
function steps.rename(s)
  acting('rename', function() vim.lsp.buf.rename(s.text) end)
  pause(500)
end
function steps.fix(s)
  local shown = {}
  local select = vim.ui.select
  vim.ui.select = function(items, options, choose)
    for _, item in ipairs(items) do
      local line = options.format_item(item)
      table.insert(shown, line)
      if line:find(s.text, 1, true) then return choose(item, 1) end
    end
  end
  acting('code action', vim.lsp.buf.code_action)
  vim.ui.select = select
  pause(500)
end
function steps.format()
  local before = text(0)
  local begin = uv.hrtime()
  changing(function()
    if vim.lsp.buf.format then vim.lsp.buf.format({ async = false, timeout_ms = 120000 }) else vim.lsp.buf.formatting_sync(nil, 120000) end
  end)
  table.insert(report.answers, { method = 'formatting', ms = elapsed(begin) })
  table.insert(report.moments, { where = where, path = current(), unformatted = before, formatted = text(0) })
  if text(0) ~= before then pause(500) end
end
-- save begins when nothing is awaited: the server looks at all files again, and at none of them first.
function steps.save()
  settle()
  vim.cmd('silent wall')
end
-- run runs opgen in the module.
function steps.run(s)
  local out = vim.fn.system(vim.list_extend({ plan.server[1], '-C', plan.root }, s.args))
  if vim.v.shell_error ~= 0 then fail('opgen %s: %s', table.concat(s.args, ' '), out) end
end

local function main()
  where = 'start'
  vim.o.virtualedit, vim.o.hidden, vim.o.swapfile = 'onemore', true, false
  client_id = (vim.lsp.start_client or vim.lsp.start)({ name = 'opgen', cmd = plan.server, root_dir = plan.root, flags = { debounce_text_changes = 0, allow_incremental_sync = true } })
  await('the server', function() local c = vim.lsp.get_client_by_id(client_id); return c and c.initialized end)
  for i, s in ipairs(plan.steps) do
    where = string.format('step %d, %s', i, s['do'])
    steps[s['do']](s)
  end
  where = 'end'
  settle()
  note()
  vim.lsp.stop_client(client_id)
  await('the end of the server', function() return vim.lsp.client_is_stopped(client_id) end)
end

local ok, err = xpcall(main, debug.traceback)
if not ok then table.insert(report.failures, tostring(err)) end
for _, m in ipairs(report.moments) do
  if m.shown and #m.shown == 0 then m.shown = nil end
end
vim.fn.writefile({ vim.json.encode(report) }, plan.report)
vim.cmd('qall!')
