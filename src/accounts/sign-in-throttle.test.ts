import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../test/fakes/manual-clock.ts'
import { storesIn } from '../../test/fakes/stores.ts'
import { attemptsInStore } from './count-attempts.ts'
import { createSignInThrottle, type SignInAttempt, TooManyAttempts } from './sign-in-throttle.ts'

const WINDOW_MS = 15 * 60_000
const wrong = async () => undefined
const right = async () => 'user'
const from = (email: string, address = '192.0.2.1', knownDevice = false): SignInAttempt => ({
  email,
  address,
  knownDevice,
})

function createRig(clock = manualClock(1_000_000), throttle = createSignInThrottle(clock)) {
  /** Advances the clock until the attempt is answered; returns how long that took, or that it was refused. */
  async function waitOf(attempted: Promise<unknown>): Promise<number | 'refused'> {
    const startMs = clock.now()
    let outcome: 'open' | 'done' | 'refused' = 'open'
    attempted.then(
      () => {
        outcome = 'done'
      },
      (error) => {
        assert.ok(error instanceof TooManyAttempts)
        outcome = 'refused'
      },
    )
    await new Promise(setImmediate)
    while (outcome === 'open') {
      clock.advance(250)
      await new Promise(setImmediate)
    }
    return (outcome as string) === 'refused' ? 'refused' : clock.now() - startMs
  }
  return { clock, throttle, waitOf }
}

test('after a few failures sign-in is delayed more and more, but never refused', async () => {
  const { clock, throttle, waitOf } = createRig()
  const waits: (number | string)[] = []
  for (let i = 0; i < 60; i++) waits.push(await waitOf(throttle.signIn(from('a@example.com'), wrong)))
  assert.deepEqual(waits.slice(0, 10), [0, 0, 0, 250, 500, 1000, 2000, 4000, 8000, 10_000])
  assert.ok(waits.slice(9).every((wait) => wait === 10_000))
  assert.equal(
    await waitOf(throttle.signIn(from('b@example.com', '192.0.2.2'), wrong)),
    0,
    'others do not wait',
  )
  clock.advance(WINDOW_MS)
  assert.equal(await waitOf(throttle.signIn(from('a@example.com'), wrong)), 0)
})

test('after any number of wrong passwords the right one passes, after a delay that a wrong one has too', async () => {
  const { throttle, waitOf } = createRig()
  for (let i = 0; i < 60; i++) {
    await waitOf(throttle.signIn(from('owner@example.com', `10.0.${i >> 8}.${i & 255}`), wrong))
  }
  let passed: unknown
  const attempt = throttle.signIn(from('owner@example.com', '192.0.2.9'), right).then((user) => {
    passed = user
  })
  assert.equal(await waitOf(attempt), 10_000)
  assert.equal(passed, 'user')
  assert.equal(
    await waitOf(throttle.signIn(from('owner@example.com'), wrong)),
    0,
    'a success forgets the failures',
  )
})

test('all spellings of an e-mail count as one', async () => {
  const { throttle, waitOf } = createRig()
  for (const email of ['a@example.com', ' A@example.com', 'a@EXAMPLE.com\t', '\n a@example.COM ']) {
    await waitOf(throttle.signIn(from(email), wrong))
  }
  assert.equal(await waitOf(throttle.signIn(from('a@example.com'), wrong)), 500)
})

test('attempts at the same time are counted before any of them is verified', async () => {
  const { clock, throttle } = createRig()
  let verified = 0
  const attempts = Array.from({ length: 8 }, () =>
    throttle.signIn(from('a@example.com'), async () => {
      verified++
      return undefined
    }),
  )
  await new Promise(setImmediate)
  assert.equal(verified, 3, 'the others wait')
  clock.advance(10_000)
  await Promise.all(attempts)
  assert.equal(verified, 8)
})

test('waiting attempts are bounded per address and per e-mail', async () => {
  const { throttle, waitOf } = createRig()
  const flood = (count: number, of: (i: number) => SignInAttempt) =>
    Promise.all(Array.from({ length: count }, (_, i) => waitOf(throttle.signIn(of(i), wrong))))
  const refused = (waits: readonly unknown[]) => waits.filter((wait) => wait === 'refused').length
  assert.equal(refused(await flood(100, (i) => from(`${i}@example.com`))), 84)
  assert.equal(refused(await flood(100, (i) => from('a@example.com', `10.0.0.${i}`))), 68)
})

test('a /64 of IPv6 is one address, and an IPv4-mapped address is its IPv4 address', async () => {
  const { throttle, waitOf } = createRig()
  const tried = async (address: string) => waitOf(throttle.signIn(from(`${Math.random()}@x`, address), wrong))
  for (let i = 0; i < 20; i++) await tried(`2001:db8:0:1:${(i * 977).toString(16)}::${i}`)
  assert.equal(await tried('2001:DB8:0:1::1'), 500)
  assert.equal(await tried('2001:db8:0:2::1'), 0, 'the next network')
  for (let i = 0; i < 20; i++) await tried('::ffff:192.0.2.7')
  assert.equal(await tried('::ffff:c000:207'), 500)
  assert.equal(await tried('192.0.2.7'), 500)
})

test('sign-up and sign-in do not count against each other', async () => {
  const { throttle, waitOf } = createRig()
  for (let i = 0; i < 20; i++) await waitOf(throttle.signUp('192.0.2.1', right))
  assert.equal(await waitOf(throttle.signUp('192.0.2.1', right)), 'refused')
  assert.equal(await waitOf(throttle.signUp('192.0.2.2', right)), 0)
  assert.equal(await waitOf(throttle.signIn(from('a@example.com'), right)), 0)
  for (let i = 0; i < 30; i++) await waitOf(throttle.signIn(from('sign-up192.0.2.3', '192.0.2.3'), wrong))
  assert.equal(await waitOf(throttle.signUp('192.0.2.3', right)), 0)
})

test('a device that has signed in before does not wait, until it guesses too', async () => {
  const { throttle, waitOf } = createRig()
  for (let i = 0; i < 30; i++) await waitOf(throttle.signIn(from('a@example.com'), wrong))
  const known = (verify: typeof wrong | typeof right) =>
    waitOf(throttle.signIn<string>(from('a@example.com', '192.0.2.1', true), verify))
  for (let i = 0; i < 10; i++) assert.equal(await known(right), 0)
  for (let i = 0; i < 5; i++) assert.equal(await known(wrong), 0)
  assert.equal(await known(wrong), 10_000)
})

test('a password is changed at most ten times within a day; what did not change it is not counted', async () => {
  const clock = manualClock(1_000_000)
  const store = storesIn(':memory:', clock).coordination()
  const { throttle, waitOf } = createRig(clock, createSignInThrottle(clock, attemptsInStore(store)))
  const change = (does: boolean, user = 'usr_1') => throttle.changePassword(user, async () => does)
  for (let i = 0; i < 5; i++) await waitOf(change(false))
  for (let i = 0; i < 10; i++) assert.notEqual(await waitOf(change(true)), 'refused')
  await waitOf(throttle.signIn(from('a@example.com'), wrong))
  await assert.rejects(change(true), /changed 10 times within a day\. Try again in 24 hours\./)
  assert.equal(await waitOf(change(true, 'usr_2')), 0, 'others are not concerned')
  clock.advance(24 * 3_600_000)
  assert.equal(await waitOf(change(true)), 0)
  await store.close()
})

test('a flood of strangers never displaces a known device', async () => {
  const { clock, throttle, waitOf } = createRig()
  const strangers = Array.from({ length: 3_000 }, (_, i) =>
    throttle
      .signIn(from(`${i % 100}@example.com`, `10.${i >> 8}.0.${i & 255}`), () =>
        clock.sleep(20_000).then(wrong),
      )
      .catch(() => 'refused'),
  )
  await new Promise(setImmediate)
  assert.equal(await waitOf(throttle.signIn(from('1@example.com', '10.0.0.1', true), right)), 0)
  for (let i = 0; i < 4; i++) {
    clock.advance(20_000)
    await new Promise(setImmediate)
  }
  assert.equal((await Promise.all(strangers)).filter((outcome) => outcome === 'refused').length, 2_000)
})

test('an attempt that could not be verified is no failure', async () => {
  const { throttle, waitOf } = createRig()
  for (let i = 0; i < 10; i++) {
    const busy = throttle.signIn(from('a@example.com'), () => Promise.reject(new Error('busy')))
    await assert.rejects(busy, /busy/)
  }
  assert.equal(await waitOf(throttle.signIn(from('a@example.com'), right)), 0)
})

test('a clock that jumps back neither locks anyone out nor resets the count', async () => {
  const { clock, throttle, waitOf } = createRig()
  for (let i = 0; i < 8; i++) await waitOf(throttle.signIn(from('a@example.com'), wrong))
  clock.set(0)
  assert.equal(await waitOf(throttle.signIn(from('a@example.com'), wrong)), 0)
})

test('guesses count together, whichever process they reach', async () => {
  const clock = manualClock(1_000_000)
  const store = storesIn(':memory:', clock).coordination()
  const rigs = [1, 2, 3].map(() => createRig(clock, createSignInThrottle(clock, attemptsInStore(store))))
  const waits: (number | string)[] = []
  for (let i = 0; i < 9; i++) {
    const rig = rigs[i % 3]
    waits.push((await rig?.waitOf(rig.throttle.signIn(from('a@example.com'), wrong))) ?? 'none')
  }
  assert.deepEqual(waits, [0, 0, 0, 250, 500, 1000, 2000, 4000, 8000])
  const [one, other] = rigs
  assert.equal(await one?.waitOf(one.throttle.signIn(from('a@example.com'), right)), 10_000)
  assert.equal(
    await other?.waitOf(other.throttle.signIn(from('a@example.com'), wrong)),
    0,
    'forgotten by all',
  )
  for (let i = 0; i < 20; i++) await one?.waitOf(one.throttle.signUp('192.0.2.9', right))
  assert.equal(await other?.waitOf(other.throttle.signUp('192.0.2.9', right)), 'refused')
  await store.close()
})
