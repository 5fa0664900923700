/** The simulated nodes in their thread: their end, their restart, and what they keep. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { plainClient } from '../../test/fakes/plain-node-client.ts'
import { until } from '../../test/until.ts'
import { systemClock } from '../kit/clock.ts'
import { createLogger } from '../kit/log.ts'
import { type SandboxNodes, startSandboxNodes } from './sandbox-nodes.ts'

function stateFolder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'sandbox-nodes-'))
  t.after(() => rmSync(path, { recursive: true, force: true }))
  return path
}

function start(folder: string): Promise<SandboxNodes> {
  const log = createLogger({ level: 'silent' })
  return startSandboxNodes({
    ...{ seed: 'a seed', network: 'testnet-10', stateFolder: folder, clock: systemClock, log },
  })
}

async function daaScore(url: string): Promise<number> {
  const client = await plainClient(url)
  try {
    return Number((await client.call('getServerInfo')).virtualDaaScore)
  } finally {
    client.close()
  }
}

const post = async (url: string, body: object = {}) =>
  (await (await fetch(url, { method: 'POST', body: JSON.stringify(body) })).json()) as Record<string, unknown>

const answers = (url: string) =>
  plainClient(url).then(
    (client) => {
      client.close()
      return true
    },
    () => false,
  )

/** A payment that the chain has accepted. */
async function pay({ nodes: [node] }: SandboxNodes): Promise<{ isKnownTo(url: string): Promise<boolean> }> {
  const control = node?.controlUrl ?? ''
  const [faucet] = (await (await fetch(`${control}/wallets`)).json()) as { address: string }[]
  const { transactionId } = await post(`${control}/pay`, { address: faucet?.address, amount: '700000000' })
  assert.equal(typeof transactionId, 'string')
  const isKnownTo = async (url: string) =>
    (await (await fetch(`${url}/truth/transaction/${transactionId}`)).json()) !== null
  await until('the payment', () => isKnownTo(control))
  return { isKnownTo }
}

test('when both nodes have died they are started again on the same ports, with the chain as it was', async (t) => {
  const folder = stateFolder(t)
  const sandbox = await start(folder)
  try {
    const [first, second] = sandbox.nodes
    assert.ok(first && second)
    assert.deepEqual([first.name, second.name], ['sandbox-1', 'sandbox-2'])
    const payment = await pay(sandbox)
    const before = await daaScore(first.url)

    await post(`${first.controlUrl}/die`)
    await until('the first node is gone', async () => !(await answers(first.url)))
    assert.ok(await answers(second.url), 'one node of two does not take the other along')
    await post(`${second.controlUrl}/die`)
    await until('both are back', async () => (await answers(first.url)) && (await answers(second.url)))
    assert.ok((await daaScore(first.url)) >= before)
    // The chain may be replacing the block that accepted it.
    await until('the payment', () => payment.isKnownTo(second.controlUrl))
  } finally {
    await sandbox.stop()
  }
})

test('a stop writes the chain, and the next start continues it', async (t) => {
  const folder = stateFolder(t)
  const sandbox = await start(folder)
  const payment = await pay(sandbox)
  const before = await daaScore(sandbox.nodes[0]?.url ?? '')
  await sandbox.stop()
  for (const { url } of sandbox.nodes) assert.equal(await answers(url), false)
  // What is not in the snapshot would be here.
  assert.equal(statSync(join(folder, 'chain.journal')).size, 0)
  assert.equal(statSync(join(folder, 'chain.packed')).size, 0)

  const again = await start(folder)
  try {
    assert.ok((await daaScore(again.nodes[0]?.url ?? '')) >= before)
    await until('the payment', () => payment.isKnownTo(again.nodes[0]?.controlUrl ?? ''))
  } finally {
    await again.stop()
  }
})

test('nodes that end before they are up are not started again: the start fails', async (t) => {
  const folder = stateFolder(t)
  const file = join(folder, 'a file')
  writeFileSync(file, '')
  await assert.rejects(() => start(file), /EEXIST|ENOTDIR/)
})
