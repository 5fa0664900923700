import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { startReceiver, until } from '../../test/fakes/receiver.ts'
import { startRig } from '../../test/fakes/webhook-rig.ts'
import { createLogger } from '../kit/log.ts'

test('when the event log starts anew, so do the webhooks, and they say so', async (t) => {
  const first = await startRig()
  const owner = await first.createOwner()
  const receiver = await startReceiver()
  t.after(() => receiver.close())
  const asked = { url: receiver.url, kinds: ['block_added'], addresses: [], batch: false }
  await first.webhooks.subscriptions.create(owner, asked)
  await first.emitBlocks(30)
  await until('the first log', () => receiver.accepted.size === 30)
  await until('settled', async () => (await first.webhooks.status()).pending === 0)
  await first.close({ keepFiles: true })
  for (const end of ['', '-wal', '-shm']) rmSync(join(first.folder, `test-chain.db${end}`), { force: true })

  const lines: string[] = []
  const log = createLogger({ level: 'error', write: (line: string) => void lines.push(line) })
  const second = await startRig({ folder: first.folder, webhooks: { log } })
  t.after(() => second.close())
  await second.emitBlocks(5)
  await until('the new log', () => receiver.accepted.size === 35)
  assert.ok(
    lines.some((line) => line.includes('has started anew')),
    lines.join(''),
  )
})
