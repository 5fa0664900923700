/**
 * The event log is lost, or replaced by an older copy, while deliveries are pending: no number is given twice, no
 * delivery carries another event's body, and a stream client that reconnects is told what it cannot get.
 */
import assert from 'node:assert/strict'
import { copyFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '../../src/kit/clock.ts'
import { openEventWriter } from '../fakes/event-writer.ts'
import { accept, type Received, startReceiver, status } from '../fakes/receiver.ts'
import { startTestService } from '../fakes/service.ts'
import { connectStream } from '../fakes/stream-client.ts'
import { until } from '../until.ts'

const ENV = { TAPELINE_ALLOW_PRIVATE_WEBHOOKS: 'on' }
const ORDER = { op: 'subscribe', kinds: ['block_added'] }

/** Writes blocks into the log of a running service and returns their texts. */
async function write(folder: string, count: number): Promise<string[]> {
  const writer = openEventWriter(folder)
  const seq = await writer.blocks(count)
  const page = await writer.events.after({ afterSeq: seq - count, limit: count })
  await writer.close()
  return page.events.map(({ text }) => text)
}

for (const [what, isRestored] of [
  ['lost', false],
  ['replaced by an older copy', true],
] as const) {
  test(`a log that was ${what}: numbers go on, waiting deliveries keep their bodies, a stream is told`, async (t) => {
    const receiver = await startReceiver(status(500))
    t.after(() => receiver.close())
    let service = await startTestService({ env: ENV })
    t.after(() => service.stop())
    const { folder } = service
    const key = await service.key()
    const created = await fetch(`${service.url}/v1/webhooks`, {
      method: 'POST',
      headers: { 'X-API-Key': key, 'Content-Type': 'application/json' },
      body: JSON.stringify({ url: receiver.url, kinds: ['block_added'] }),
    })
    assert.equal(created.status, 201)
    const file = join(folder, 'test-chain.db')
    const before = await write(folder, 2)
    const taken = () => receiver.received.map(({ body }: Received) => body)
    // Earlier deliveries may be tried again first.
    const areTried = () => before.every((text) => taken().includes(text))
    await until('two failed tries', areTried)
    await service.stop({ keepFiles: true })
    copyFileSync(file, `${file}.copy`)

    service = await startTestService({ env: ENV, folder })
    before.push(...(await write(folder, 2)))
    await until('four failed tries', areTried)
    const pastSeq = seqOf(before.at(-1))
    await service.stop({ keepFiles: true })
    for (const end of ['', '-wal', '-shm']) rmSync(`${file}${end}`, { force: true })
    if (isRestored) copyFileSync(`${file}.copy`, file)

    receiver.received.length = 0
    receiver.answer = accept
    // An hour later, when every delivery is due again.
    const later = { ...systemClock, now: () => Date.now() + 3_600_000 }
    service = await startTestService({ env: ENV, folder, clock: later })
    const client = connectStream(service.url, key)
    client.send({ ...ORDER, resume_after: pastSeq })
    const { seq: openSeq } = await client.next('welcome')
    await client.next('live')
    const after = await write(folder, 3)
    assert.ok(after.every((text) => seqOf(text) > Number(openSeq)))
    assert.ok(Number(openSeq) > pastSeq, 'numbers go on above those of the lost log')
    const all = [...before, ...after]
    assert.equal(new Set(all.map(seqOf)).size, all.length, 'no number twice')
    await until('every event of both', () => all.every((text) => taken().includes(text)))
    assert.deepEqual(
      taken().filter((body) => !all.includes(body)),
      [],
      'nothing else was sent',
    )
    await until('the stream', () => client.events.length === 3)
    assert.deepEqual(
      client.events.map(({ seq }) => seq),
      after.map(seqOf),
    )
    const gaps = client.frames.filter(({ type }) => type === 'gap')
    // What the older copy lacks is published again under new numbers; what was lost with a whole log is not.
    if (!isRestored) {
      assert.deepEqual(
        gaps.map(({ reason, after_seq, up_to_seq }) => [reason, after_seq, up_to_seq]),
        [['retention', pastSeq, openSeq]],
      )
    }
    client.close()
  })
}

function seqOf(text: string | undefined): number {
  return (JSON.parse(text ?? '{"seq":0}') as { seq: number }).seq
}
