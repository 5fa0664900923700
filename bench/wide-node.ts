/**
 * A node that costs as little as possible: it answers light calls with fixed texts and getBlocks with prepared bytes of
 * the given size, so that the service is measured and not the node.
 */
import type { AddressInfo } from 'node:net'
import { type WebSocket, WebSocketServer } from 'ws'

const bytes = Number(process.argv[2] ?? 1_000)
const block = `{"header":{"hash":"${'ab'.repeat(32)}","nonce":18446744073709551615},"transactions":[]}`
const count = Math.ceil(bytes / (block.length + 1))
const blocks = Buffer.from(
  `{"blockHashes":[],"blocks":[${Array.from({ length: count }, () => block).join(',')}]}`,
)
const ANSWERS: Record<string, string> = {
  getServerInfo:
    '{"rpcApiVersion":1,"rpcApiRevision":0,"serverVersion":"2.0.1","networkId":"testnet-10","hasUtxoIndex":true,"isSynced":true,"virtualDaaScore":500000000}',
  getSinkBlueScore: '{"blueScore":498000237}',
}

const server = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: false })
server.on('connection', (socket) => {
  socket.on('message', (data) => answer(socket, String(data)))
})
server.on('listening', () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
})

function answer(socket: WebSocket, frame: string): void {
  const [, id, method = ''] = /^\{"id":(\d+),"method":"(\w+)"/.exec(frame) ?? []
  const head = `{"id":${id},"method":"${method}","params":`
  if (method !== 'getBlocks') {
    socket.send(`${head}${ANSWERS[method] ?? '{}'}}`)
    return
  }
  // One frame, as the real node sends it.
  socket.send(Buffer.concat([Buffer.from(head), blocks, Buffer.from('}')]), { binary: false })
}
