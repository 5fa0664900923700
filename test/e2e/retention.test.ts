import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { ask } from '../fakes/client.ts'
import { dataFolder, printedKey, spawnService, startTestService } from '../fakes/service.ts'
import { until } from '../until.ts'

test('a service does not start when a plan promises more than is kept, and says what to change', async () => {
  const env = {
    TAPELINE_TEST: 'off',
    TAPELINE_LIVE: 'perpdex',
    TAPELINE_RETENTION: 'trades=90d,trades@perpdex=30d',
  }
  const folder = dataFolder()
  after(folder.remove)
  await assert.rejects(startTestService({ env, folder: folder.path }), {
    name: 'ConfigError',
    message:
      'TAPELINE_RETENTION: trades@perpdex is kept for 30 days, but the plan business promises 31 days of trades. Keep it longer, or lower historyDays.trades of the plan in the file that TAPELINE_PLANS names.',
  })
})

const jsonOf = (body: object) => ({
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
})
const TOKEN = 'a token of sixteen characters'

test('below the floor recording goes on, replays are refused with 503, and status, metrics and log say so', async () => {
  const folder = dataFolder()
  // More than any disk has.
  const env = {
    TAPELINE_SANDBOX: 'on',
    TAPELINE_MIN_FREE: '9000TB',
    TAPELINE_METRICS_TOKEN: TOKEN,
    TAPELINE_ALLOW_PRIVATE_WEBHOOKS: 'on',
  }
  const service = await spawnService(folder.path, { env })
  try {
    const key = await printedKey(service)
    const status = async () => (await ask(`${service.url}/v1/status`, { key })).json
    const made = await ask(`${service.url}/v1/webhooks`, {
      ...{ key, method: 'POST' },
      ...jsonOf({ url: 'http://127.0.0.1:1024/x', kinds: ['block_added'] }),
    })
    assert.equal(made.status, 201, made.text)
    const replay = await ask(`${service.url}/v1/webhooks/${made.json.id}/replay`, {
      ...{ key, method: 'POST', ...jsonOf({ after_seq: 0 }) },
    })
    assert.equal(replay.status, 503, replay.text)
    assert.deepEqual([replay.json.error, replay.json.reason], ['environment_unavailable', 'disk_low'])
    const disk = (await status()).disk as { state: string }
    assert.equal(disk.state, 'low')
    assert.notEqual((await status()).status, 'ok')
    const metrics = await fetch(`${service.url}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } })
    assert.match(await metrics.text(), /^tapeline_disk_low 1$/m)
    assert.match(service.printed(), /the disk is nearly full/)
    await until('rows are recorded all the same', async () => {
      // The key's plan allows five requests a second.
      await wait(500)
      const { ingestion } = (await status()) as unknown as { ingestion: { rows_inserted: number }[] }
      return ingestion.some((source) => source.rows_inserted > 0)
    })
  } finally {
    await service.kill('SIGTERM')
    folder.remove()
  }
})
