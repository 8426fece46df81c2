-- Drives Neovim's own client against `tileverify lsp`, and writes what it was told as JSON.
-- The variables: COMMAND (JSON, a list), ROOT, SOURCE, ANSWER (a file).
local command = vim.fn.json_decode(vim.env.COMMAND)
local answer = { version = tostring(vim.version().major) .. '.' .. tostring(vim.version().minor), progress = {} }
local progress = vim.lsp.handlers['$/progress']
vim.lsp.handlers['$/progress'] = function(err, result, ...)
  table.insert(answer.progress, result.value.kind)
  if progress then return progress(err, result, ...) end
end

vim.cmd('edit ' .. vim.env.SOURCE)
local id = vim.lsp.start_client({ name = 'tileverify', cmd = command, root_dir = vim.env.ROOT })
vim.lsp.buf_attach_client(0, id)

local function wait(wanted) return vim.wait(60000, wanted, 20) end
local function ask(method, more)
  local params = { textDocument = { uri = vim.uri_from_bufnr(0) } }
  local replies = vim.lsp.buf_request_sync(0, method, vim.tbl_extend('error', params, more), 60000) or {}
  for _, reply in pairs(replies) do return reply.result end
end

wait(function() return #vim.diagnostic.get(0) > 0 end)
local found = vim.diagnostic.get(0)[1]
answer.line, answer.code, answer.message = found.lnum, found.code, found.message
answer.related = found.user_data.lsp.relatedInformation

-- A question that is taken back, while repairs are being tried.
local line = { start = { line = found.lnum, character = 0 }, ['end'] = { line = found.lnum, character = 0 } }
local client = vim.lsp.get_client_by_id(id)
local params = { textDocument = { uri = vim.uri_from_bufnr(0) }, range = line, context = { diagnostics = {} } }
local answered = false
local _, number = client.request('textDocument/codeAction', params, function() answered = true end, 0)
client.cancel_request(number)
wait(function() return client.requests[number] == nil end)
answer.cancelled = not answered and client.requests[number] == nil

answer.hover = ask('textDocument/hover', { position = { line = found.lnum, character = 4 } }).contents.value
local actions = ask('textDocument/codeAction', { range = line, context = { diagnostics = {} } })
answer.actions = {}
for _, action in ipairs(actions) do table.insert(answer.actions, action.title) end
answer.hints = ask('textDocument/inlayHint', { range = { start = { line = 0, character = 0 }, ['end'] = { line = 99, character = 0 } } })

-- The repair, as an editor puts it in: an unsaved buffer that is checked again.
for _, action in ipairs(actions) do
  if action.isPreferred then
    vim.lsp.util.apply_workspace_edit(action.edit, 'utf-16')
    break
  end
end
answer.modified = vim.bo.modified
wait(function() return #vim.diagnostic.get(0) == 0 end)
answer.left = #vim.diagnostic.get(0)
vim.fn.writefile({ vim.fn.json_encode(answer) }, vim.env.ANSWER)
vim.cmd('qall!')
