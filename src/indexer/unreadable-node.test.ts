import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { WebSocket, WebSocketServer } from 'ws'
import { startChainRig } from '../../test/fakes/chain-rig.ts'
import { until } from '../../test/until.ts'

/** A node behind a proxy which, from `isBroken` on, leaves a member out of its answers about the chain. */
async function behindProxy(url: string) {
  const proxy = { url: '', isBroken: false, answers: 0, close }
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: false })
  await once(server, 'listening')
  proxy.url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}`
  server.on('connection', (caller) => {
    const node = new WebSocket(url, { perMessageDeflate: false })
    const opened = once(node, 'open')
    opened.catch(() => caller.terminate())
    for (const socket of [caller, node]) socket.on('error', () => socket.terminate())
    caller.on('message', (data) => void opened.then(() => node.send(String(data))).catch(() => {}))
    node.on('message', (data) => {
      let text = String(data)
      if (text.includes('"method":"getVirtualChainFromBlockV2"')) {
        proxy.answers++
        if (proxy.isBroken) text = text.replace('"chainBlockAcceptedTransactions"', '"others"')
      }
      caller.send(text)
    })
    caller.on('close', () => node.terminate())
    node.on('close', () => caller.terminate())
  })
  function close() {
    for (const client of server.clients) client.terminate()
    server.close()
  }
  return proxy
}

test('while the answers of one node cannot be read, the chain is followed at another', async (t) => {
  const rig = await startChainRig({ nodes: 2 })
  const proxies = await Promise.all(rig.nodes.map(({ url }) => behindProxy(url)))
  t.after(async () => {
    await rig.close()
    for (const proxy of proxies) proxy.close()
  })
  const { database, troubles } = await rig.follow({ urls: proxies.map(({ url }) => url) })
  const blueScore = async () => (await database.chain.checkpoint())?.blueScore ?? 0
  await until('the chain is followed', () => proxies.some(({ answers }) => answers > 5))
  const followed = proxies.reduce((a, b) => (b.answers > a.answers ? b : a))
  followed.isBroken = true
  const before = await blueScore()
  await until('the chain goes on', async () => (await blueScore()) > before + 20, 20_000)
  assert.ok(troubles.length > 0)
})
