/** Nodes as separate processes on one chain: killed, stopped and restarted while the others continue. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, test } from 'node:test'
import { plainClient } from '../../test/fakes/plain-node-client.ts'
import { until } from '../../test/until.ts'

interface Ready {
  linkPort: number | null
  resumed: boolean
  nodes: { name: string; url: string; controlUrl: string }[]
}

const children: ChildProcess[] = []
after(() => {
  for (const child of children) child.kill('SIGKILL')
})

async function start(...args: string[]): Promise<{ child: ChildProcess; ready: Ready }> {
  const file = join(import.meta.dirname, 'process.ts')
  const child = spawn(process.execPath, [file, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  children.push(child)
  const [line] = (await once(createInterface({ input: child.stdout as NodeJS.ReadableStream }), 'line')) as [
    string,
  ]
  return { child, ready: JSON.parse(line) as Ready }
}

async function daaScore(url: string): Promise<number> {
  const client = await plainClient(url)
  try {
    return Number((await client.call('getServerInfo')).virtualDaaScore)
  } finally {
    client.close()
  }
}

test('three processes: one node is killed, one stopped and continued; a payment and the chain survive', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'sandbox-process-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const chain = await start(
    '--nodes',
    '0',
    '--link-port',
    '0',
    '--state-folder',
    folder,
    '--seed',
    '51',
    '--warm-up-blocks',
    '60',
  )
  const attach = ['--attach', String(chain.ready.linkPort)]
  const [first, second] = await Promise.all([
    start('--name', 'first', ...attach),
    start('--name', 'second', ...attach),
  ])
  const [a, b] = [first.ready.nodes[0], second.ready.nodes[0]]
  assert.ok(a && b)

  const wallets = (await (await fetch(`${a.controlUrl}/wallets`)).json()) as { address: string }[]
  const pay = await fetch(`${a.controlUrl}/pay`, {
    method: 'POST',
    body: JSON.stringify({ address: wallets[1]?.address, amount: '700000000' }),
  })
  const { transactionId } = (await pay.json()) as { transactionId: string }
  const knows = async (url: string) =>
    (await (await fetch(`${url}/truth/transaction/${transactionId}`)).json()) !== null
  await until('the payment on the other node', () => knows(b.controlUrl))

  first.child.kill('SIGSTOP')
  const stoppedAt = await daaScore(b.url)
  await until('blocks while the other is stopped', async () => (await daaScore(b.url)) > stoppedAt + 5)
  first.child.kill('SIGCONT')
  await until('the continued node to catch up', async () => (await daaScore(a.url)) > stoppedAt + 5)

  first.child.kill('SIGKILL')
  await once(first.child, 'exit')
  await assert.rejects(() => plainClient(a.url))
  const killedAt = await daaScore(b.url)
  await until('blocks after the kill', async () => (await daaScore(b.url)) > killedAt + 5)

  chain.child.kill('SIGKILL')
  await once(chain.child, 'exit')
  const frozen = await daaScore(b.url)
  const again = await start(
    ...[
      '--nodes',
      '1',
      '--link-port',
      String(chain.ready.linkPort),
      '--state-folder',
      folder,
      '--seed',
      '51',
    ],
  )
  assert.equal(again.ready.resumed, true)
  await until('the node to follow the restarted chain', async () => (await daaScore(b.url)) > frozen + 3)
  assert.ok(await knows(again.ready.nodes[0]?.controlUrl ?? ''), 'the payment is still known')

  again.child.kill('SIGTERM')
  const [code] = (await once(again.child, 'exit')) as [number]
  assert.equal(code, 0)
})
