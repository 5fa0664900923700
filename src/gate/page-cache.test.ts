import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Credential } from '../accounts/key-ring.ts'
import type { ListAnswer } from '../contract/endpoint.ts'
import { createPageCache } from './page-cache.ts'
import type { GateRequest } from './request.ts'
import type { Task } from './task.ts'

const ROW = `{"n":"${'x'.repeat(5_000)}"}`

function taskFor(
  search: string,
  options: { method?: string; plan?: string; accept?: string; environment?: string } = {},
) {
  const request: GateRequest = {
    id: 'req_1',
    method: options.method ?? 'GET',
    path: '/v1/rows',
    search,
    pathParams: {},
    headers: options.accept === undefined ? {} : { accept: options.accept },
    address: '127.0.0.1',
    body: undefined,
  }
  const { environment = 'test', plan = 'free' } = options
  const credential = { environment, plan: { name: plan } } as unknown as Credential
  const returns = { kind: 'list', name: 'Row', row: {} }
  const route = { endpoint: { returns } }
  return { request, credential, route, input: { limit: 1 }, format: 'json' } as unknown as Task<unknown>
}

function pageOf(options: { sealed?: boolean } = {}): ListAnswer {
  const { sealed = true } = options
  return {
    kind: 'list',
    rows: [Buffer.from(ROW)],
    count: 1,
    hasMore: false,
    nextCursor: null,
    meta: {},
    sealed,
    clamped: false,
    coverageComplete: true,
    ...(sealed ? { isCurrent: () => true } : {}),
  }
}

test('a sealed page is stored at its second request, as bytes, for the same text, environment, plan and accepted type only', async () => {
  const pages = createPageCache<unknown>(1_000_000)
  const task = taskFor('symbol=BTC')
  assert.equal(pages.store(task, pageOf()), undefined)
  assert.equal(pages.find(task.request, task.credential), undefined)
  const rendered = await pages.store(task, pageOf())
  const found = pages.find(task.request, task.credential)
  assert.equal(found?.rendered, rendered)
  assert.match(String(rendered?.body), /^\{"data":\[\{"n":"xxx/)
  assert.equal(found?.answer.rows, '', 'the rows are stored once, in the rendered page')
  for (const other of [
    taskFor('symbol=ETH'),
    taskFor('symbol=BTC', { plan: 'developer' }),
    taskFor('symbol=BTC', { environment: 'live' }),
    taskFor('symbol=BTC', { accept: 'text/csv' }),
    taskFor('symbol=BTC', { method: 'HEAD' }),
  ]) {
    assert.equal(pages.find(other.request, other.credential), undefined)
  }
})

test('what can still change, another method and a query with a key are never stored', () => {
  const pages = createPageCache<unknown>(1_000_000)
  const tries: [Task<unknown>, ListAnswer][] = [
    [taskFor('symbol=BTC'), pageOf({ sealed: false })],
    [taskFor('symbol=BTC', { method: 'HEAD' }), pageOf()],
    [taskFor('symbol=BTC&api-key=svc_test_1'), pageOf()],
    [taskFor(`symbol=${'B'.repeat(3_000)}`), pageOf()],
  ]
  for (const [task, answer] of tries) {
    for (let i = 0; i < 3; i++) assert.equal(pages.store(task, answer), undefined)
  }
})

test('rendered and compressed bytes together stay within the budget', () => {
  const pages = createPageCache<unknown>(20_000)
  const tasks = Array.from({ length: 10 }, (_, i) => taskFor(`page=${i}`))
  const isStored = (task: Task<unknown>) => pages.find(task.request, task.credential) !== undefined
  for (const task of tasks) {
    pages.store(task, pageOf())
    pages.store(task, pageOf())
  }
  const count = tasks.filter(isStored).length
  assert.ok(count === 3, `${count} pages of 6 kB are in 20 kB`)
  const stored = tasks.find(isStored)
  assert.ok(stored)
  const encoded = pages.find(stored.request, stored.credential)?.rendered.encoded
  encoded?.set('gzip', Buffer.alloc(9_000))
  assert.equal(encoded?.get('gzip')?.length, 9_000)
  assert.ok(tasks.filter(isStored).length < count, 'compressed bytes count as well')
  assert.equal(createPageCache<unknown>(0).store(stored, pageOf()), undefined)
})
