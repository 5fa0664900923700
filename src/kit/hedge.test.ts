import assert from 'node:assert/strict'
import { test } from 'node:test'
import { race } from './hedge.ts'

const after =
  (ms: number, outcome: string, stopped: string[] = []) =>
  (signal: AbortSignal) => {
    const { promise, resolve } = Promise.withResolvers<string>()
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', onAbort)
      resolve(outcome)
    }, ms)
    const onAbort = () => {
      clearTimeout(timer)
      stopped.push(outcome)
      resolve(`${outcome} stopped`)
    }
    signal.addEventListener('abort', onAbort)
    return promise
  }
const good = (outcome: string) => outcome.startsWith('good')

test('a fast first try is the only try', async () => {
  let started = 0
  const result = await race({
    next: () => (started++ < 5 ? after(1, 'good') : undefined),
    accept: good,
    hedgeAfterMs: 200,
  })
  assert.equal(result.winner, 'good')
  assert.equal(started, 1)
})

test('a slow first try gets company, the faster one wins and the other is stopped', async () => {
  const stopped: string[] = []
  const tries = [after(5_000, 'good slow', stopped), after(5, 'good fast', stopped)]
  const hedged: boolean[] = []
  const result = await race({
    next: (hedging) => {
      hedged.push(hedging)
      return tries.shift()
    },
    accept: good,
    hedgeAfterMs: 20,
  })
  assert.equal(result.winner, 'good fast')
  assert.deepEqual(stopped, ['good slow'])
  assert.deepEqual(hedged, [false, true])
})

test('without a hedge time a new try starts only after the last one failed', async () => {
  let running = 0
  let most = 0
  const tries = ['bad', 'bad', 'good'].map((outcome) => async (signal: AbortSignal) => {
    most = Math.max(most, ++running)
    const value = await after(10, outcome)(signal)
    running--
    return value
  })
  const result = await race({ next: () => tries.shift(), accept: good })
  assert.equal(result.winner, 'good')
  assert.deepEqual(result.losers, ['bad', 'bad'])
  assert.equal(most, 1)
})

test('when nothing is left, or the signal comes, there is no winner', async () => {
  const tries = [after(1, 'bad')]
  assert.deepEqual(await race({ next: () => tries.shift(), accept: good }), {
    winner: undefined,
    losers: ['bad'],
  })
  const result = await race({
    next: () => after(5_000, 'good'),
    accept: good,
    signal: AbortSignal.timeout(20),
  })
  assert.equal(result.winner, undefined)
})

test('a running try may still win after the others failed', async () => {
  const tries = [after(60, 'good late'), after(1, 'bad')]
  const result = await race({ next: () => tries.shift(), accept: good, hedgeAfterMs: 5 })
  assert.equal(result.winner, 'good late')
})
