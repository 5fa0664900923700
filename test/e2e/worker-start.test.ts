/** The first start of an installation whose roles are divided between processes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask } from '../fakes/client.ts'
import { dataFolder, spawnService, startTestService, type TestService } from '../fakes/service.ts'
import { postgresPlace, withoutPostgres } from '../postgres/test-postgres.ts'

test('the first key is that of a process which answers callers, not of a worker that starts before it', {
  skip: withoutPostgres,
}, async (t) => {
  const place = postgresPlace()
  const running: TestService[] = []
  t.after(async () => {
    for (const service of running) await service.stop()
    await place.remove()
  })
  const start = async (roles: string) => {
    const started = await startTestService({
      env: {
        TAPELINE_STORE: place.address,
        TAPELINE_SECRET: 'a secret of all processes, of which this is one',
        TAPELINE_ROLES: roles,
      },
    })
    running.push(started)
    return started
  }
  const worker = await start('upkeep')
  assert.equal(worker.service.firstKey, undefined)
  const api = await start('api')
  const { firstKey } = api.service
  assert.ok(firstKey !== undefined)
  assert.equal((await ask(`${api.url}/v1/limits`, { key: firstKey })).status, 200)
})

test('a process without the role api prints no addresses of pages, which it does not have', {
  skip: withoutPostgres,
}, async (t) => {
  const place = postgresPlace()
  const folder = dataFolder()
  const worker = await spawnService(folder.path, {
    env: {
      TAPELINE_STORE: place.address,
      TAPELINE_SECRET: 'a secret of all processes, of which this is one',
      TAPELINE_ROLES: 'upkeep',
    },
  })
  t.after(async () => {
    await worker.kill('SIGKILL')
    folder.remove()
    await place.remove()
  })
  assert.equal((await ask(`${worker.url}/docs`)).status, 404)
  assert.equal(await worker.kill('SIGTERM'), 0, worker.printed())
  assert.doesNotMatch(worker.printed(), /\/docs|Dashboard/)
})
