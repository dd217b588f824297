// One call of one tool by a client that we did not write:
//   node agent.mjs old|new URL TOOL ARGUMENTS [HEADER=VALUE…]
// It prints the result, or what the client threw, as JSON.
const [era, url, tool, args, ...headers] = process.argv.slice(2)
const old = era === 'old'
const { Client } = await import(old ? '@modelcontextprotocol/sdk/client/index.js' : '@modelcontextprotocol/client')
const { StreamableHTTPClientTransport } = await import(old ? '@modelcontextprotocol/sdk/client/streamableHttp.js' : '@modelcontextprotocol/client')
const client = new Client({ name: 'agent', version: '1' }, old ? {} : { versionNegotiation: { mode: { pin: '2026-07-28' } } })
const requestInit = { headers: Object.fromEntries(headers.map((h) => [h.slice(0, h.indexOf('=')), h.slice(h.indexOf('=') + 1)])) }
let out
try {
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }))
  const listed = await client.listTools() // the client holds results to the schemas that it has seen
  out = tool === 'list' ? listed : await client.callTool({ name: tool, arguments: JSON.parse(args) })
} catch (e) {
  out = { thrown: String(e) }
}
process.stdout.write(JSON.stringify(out))
await client.close().catch(() => {})
process.exit(0)
