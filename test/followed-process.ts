/**
 * A process that lives in the time of the test. Its clock is steered by messages, one step at a time:
 *
 *   process: receives everything sent to it before ─▶ moves to the new time ─▶ reports
 *   test:    receives everything that the process sent ─▶ moves to the new time, too
 *
 * So what the test sends is received in the step in which it is sent, and the time of the test is never ahead of that
 * of the process, however busy the machine is.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { type PacedClock, type SteeredClock, steeredClock } from './predictions/paced-clock.ts'
import { clientEnd, type SentBytes, serverEnd } from './sent-bytes.ts'

const READY_WITHIN_MS = 5 * 60_000

interface Step {
  readonly nowMs: number
  readonly sent: SentBytes
}

interface StepDone {
  readonly isReady: boolean
  readonly sent: SentBytes
}

export interface FollowedProcess {
  /** Kills it at a random moment of its work within this many real milliseconds; resolves when it is dead. */
  kill(withinMs: number): Promise<void>
  /** Resolves when it has exited on its own. */
  stop(): Promise<void>
}

/** Starts a script with options as JSON in its first argument; resolves when the process reports that it is ready. */
export async function startFollowed(
  clock: PacedClock,
  script: string,
  options: object,
): Promise<FollowedProcess> {
  const tcp = serverEnd()
  const child = fork(script, [JSON.stringify({ ...options, nowMs: clock.now() })], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const exited = once(child, 'exit')
  let isReady = false
  clock.follower = async (nowMs) => {
    if (!isAlive(child)) return
    child.send({ nowMs, sent: await tcp.sent() } satisfies Step, () => {})
    const done = await Promise.race([once(child, 'message').then(([answer]) => answer as StepDone), exited])
    if (!('isReady' in done)) return
    isReady = done.isReady
    await Promise.race([tcp.received(done.sent), exited])
  }
  const end = async (work: Promise<unknown>) => {
    await clock.during(work)
    clock.follower = undefined
  }
  for (const giveUpMs = clock.now() + READY_WITHIN_MS; !isReady; ) {
    assert.ok(clock.now() < giveUpMs && isAlive(child), 'the process is not ready')
    await clock.runUntil(clock.now() + 1_000)
  }
  return {
    async kill(withinMs) {
      setTimeout(() => child.kill('SIGKILL'), withinMs)
      await end(exited)
    },
    async stop() {
      child.kill('SIGTERM')
      await end(exited)
    },
  }
}

const isAlive = ({ exitCode, signalCode }: ChildProcess) => exitCode === null && signalCode === null

/** Used inside the process: its clock, which reports after each step. */
export function followParent(startMs: number, isReady: () => boolean): SteeredClock {
  const clock = steeredClock(startMs)
  const tcp = clientEnd()
  async function follow({ nowMs, sent }: Step): Promise<void> {
    await tcp.received(sent)
    await clock.moveTo(nowMs)
    process.send?.({ isReady: isReady(), sent: await tcp.sent() } satisfies StepDone)
  }
  process.on('message', (step: Step) => void follow(step))
  return clock
}
