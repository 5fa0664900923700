/**
 * Calls functions of a worker thread by name, with typed arguments and results.
 *
 *   threadCalls(file) ──{ id, name, args }──▶ serveCalls(handlers)
 *                     ◀──{ replies: [{ id, value | error }, …] }──
 *                     ◀──any other message── an event that the thread sends by itself
 *
 *   idle ──call──▶ busy ──last reply──▶ idle        an idle thread does not keep the process alive
 *     └──close()──▶ completes the calls it received ──▶ ended
 *     └──dies──▶ ended: every call in flight is rejected with a ThreadEndedError
 */
import { setTimeout as delay } from 'node:timers/promises'
import {
  parentPort,
  type ResourceLimits,
  receiveMessageOnPort,
  type Transferable,
  Worker,
} from 'node:worker_threads'

/** Every member is a function that can be called from the other side. */
type Callable<H> = { [N in keyof H]: (...args: never[]) => unknown }

export interface ThreadCall {
  readonly id: number
  readonly name: string
  readonly args: unknown[]
}
export type ThreadReply = { readonly id: number } & (
  | { readonly value: unknown }
  | { readonly error: ErrorParts }
)

interface ErrorParts {
  readonly name: string
  readonly message: string
  readonly stack: string | undefined
  /** `code` and other plain members. */
  readonly members: Record<string, unknown>
}
interface Replies {
  readonly replies: readonly ThreadReply[]
}

const CLOSE = 'close'
const CLOSED = 'closed'
/** Calls beyond this number in flight are refused; a caller that can wait awaits `ready` first. */
const MAX_CALLS = 100_000
/** By default each thread fills 48 MB with short-lived objects before it collects any. */
const YOUNG_GENERATION_MB = 12
/** A thread exits as soon as everything is closed, unless a DNS lookup is still running. */
const END_WITHIN_MS = 200

export class ThreadEndedError extends Error {
  override readonly name = 'ThreadEndedError'
}

export interface ThreadCallsOptions {
  /** Shown in errors and in diagnostic reports: `accounts writer`. */
  name: string
  data?: unknown
  limits?: ResourceLimits
  /**
   * Started by the first call, and again by the next call after it died. Otherwise started at once and never restarted.
   */
  startOnCall?: boolean
  /**
   * The thread also works without calls: it keeps the process alive until it is closed, not only while a call is in
   * flight.
   */
  keepsProcess?: boolean
  /** `ready` waits while calls of at least this total weight are in flight. */
  maxWeight?: number
  /**
   * Errors of these classes arrive as instances of them; any other error arrives as a plain Error with its name and
   * code.
   */
  errors?: readonly { readonly prototype: Error; readonly name: string }[]
  onEvent?: (event: unknown) => void
}

export interface ThreadCalls<H extends Callable<H>> {
  call<N extends keyof H & string>(
    name: N,
    args: Parameters<H[N]>,
    options?: { weight?: number; transfer?: Transferable[] },
  ): Promise<Awaited<ReturnType<H[N]>>>
  /** Resolves when there is room for more calls. */
  ready(): Promise<void>
  /** Throws the reason if the thread has died. */
  probe(): void
  /** Resolves once the thread has ended: with the reason, or with undefined after `close`. */
  readonly ended: Promise<Error | undefined>
  /**
   * Resolves once the thread has answered all calls, closed what it had opened, and ended. With a limit it is
   * terminated after that time. A thread that has not posted anything yet has opened nothing, and is terminated at
   * once.
   */
  close(withinMs?: number): Promise<void>
  /** Ends the thread without waiting for its work. */
  terminate(): Promise<void>
}

interface Waiting {
  readonly weight: number
  readonly resolve: (value: never) => void
  readonly reject: (error: Error) => void
}

interface RunningThread {
  readonly worker: Worker
  readonly exited: Promise<void>
  readonly closed: Promise<void>
  hasPosted: boolean
}

export function threadCalls<H extends Callable<H>>(file: URL, options: ThreadCallsOptions): ThreadCalls<H> {
  const { name, maxWeight = Number.POSITIVE_INFINITY, errors = [], keepsProcess = false } = options
  const waiting = new Map<number, Waiting>()
  const blocked: (() => void)[] = []
  const end = Promise.withResolvers<Error | undefined>()
  let weightInFlight = 0
  let nextId = 1
  let running: RunningThread | undefined
  let death: Error | undefined
  let closing: Promise<void> | undefined

  function start(): RunningThread {
    const { data: workerData, limits } = options
    const resourceLimits = { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB, ...limits }
    const worker = new Worker(file, { workerData, name, resourceLimits })
    const exit = Promise.withResolvers<void>()
    const closed = Promise.withResolvers<void>()
    const thread: RunningThread = { worker, exited: exit.promise, closed: closed.promise, hasPosted: false }
    let cause: Error | undefined
    worker.on('message', (message: unknown) => {
      thread.hasPosted = true
      if (message === CLOSED) closed.resolve()
      else if (isReplies(message)) settle(message.replies)
      else options.onEvent?.(message)
    })
    worker.on('error', (error) => {
      cause = error instanceof Error ? error : new Error(String(error))
    })
    worker.once('exit', () => {
      if (running === thread) running = undefined
      lose(cause)
      exit.resolve()
    })
    if (!keepsProcess) worker.unref()
    return thread
  }

  function settle(replies: readonly ThreadReply[]): void {
    for (const reply of replies) {
      const caller = waiting.get(reply.id)
      if (caller === undefined) continue
      waiting.delete(reply.id)
      weightInFlight -= caller.weight
      if ('error' in reply) caller.reject(revive(reply.error, errors))
      else caller.resolve(reply.value as never)
    }
    if (waiting.size === 0 && closing === undefined && !keepsProcess) running?.worker.unref()
    admit()
  }

  function lose(cause: Error | undefined): void {
    const reason = new ThreadEndedError(`the ${name} has ended${cause ? `: ${cause.message}` : ''}`, {
      cause,
    })
    if (closing !== undefined || options.startOnCall !== true) death ??= reason
    for (const { reject } of waiting.values()) reject(reason)
    waiting.clear()
    weightInFlight = 0
    admit()
    end.resolve(closing === undefined ? reason : undefined)
  }

  function admit(): void {
    while (blocked.length > 0 && (death !== undefined || weightInFlight < maxWeight)) blocked.shift()?.()
  }

  if (options.startOnCall !== true) running = start()

  async function endThread(withinMs: number | undefined): Promise<void> {
    const thread = running
    if (thread === undefined) {
      death ??= new ThreadEndedError(`the ${name} is closed`)
      end.resolve(undefined)
      return
    }
    thread.worker.ref()
    if (withinMs !== undefined && !thread.hasPosted) void thread.worker.terminate()
    else thread.worker.postMessage(CLOSE)
    if (withinMs === undefined) return thread.exited
    const isOver = new AbortController()
    const wait = (ms: number) => delay(ms, undefined, { signal: isOver.signal }).catch(() => {})
    await Promise.race([
      thread.exited,
      thread.closed.then(() => wait(END_WITHIN_MS)),
      wait(thread.hasPosted ? withinMs : END_WITHIN_MS),
    ])
    isOver.abort()
    void thread.worker.terminate()
  }

  return {
    ended: end.promise,
    async ready() {
      while (death === undefined && weightInFlight >= maxWeight) {
        await new Promise<void>((resolve) => blocked.push(resolve))
      }
    },
    call(call, args, { weight = 1, transfer = [] } = {}) {
      if (death !== undefined) return Promise.reject(death)
      if (closing !== undefined) return Promise.reject(new ThreadEndedError(`the ${name} is closed`))
      if (waiting.size >= MAX_CALLS) return Promise.reject(new Error(`too many calls wait for the ${name}`))
      try {
        running ??= start()
      } catch (cause) {
        return Promise.reject(new ThreadEndedError(`the ${name} could not be started`, { cause }))
      }
      const { worker } = running
      const id = nextId++
      return new Promise((resolve, reject) => {
        // Posted first: arguments that cannot be cloned throw here, before the call counts as in flight.
        worker.postMessage({ id, name: call, args } satisfies ThreadCall, transfer)
        if (waiting.size === 0) worker.ref()
        waiting.set(id, { weight, resolve, reject })
        weightInFlight += weight
      })
    },
    probe() {
      if (death !== undefined) throw death
    },
    close(withinMs) {
      closing ??= endThread(withinMs)
      return closing
    },
    async terminate() {
      closing ??= Promise.resolve(running?.worker.terminate()).then(() => {})
      await closing
    },
  }
}

/** The thread's side for messages that are not calls. */
export interface ThreadSide {
  post(event: unknown): void
}

/** Answers every call when its handler is done; several may run concurrently. `close` runs after the last one. */
export function serveCalls<H extends Callable<H>>(
  handlers: H,
  options: { close?: () => Promise<void> | void } = {},
): ThreadSide {
  const port = ownPort()
  const running = new Set<Promise<void>>()
  port.on('message', (message: ThreadCall | typeof CLOSE) => {
    if (message === CLOSE) {
      void Promise.allSettled(running)
        .then(() => options.close?.())
        .finally(endOfThread)
      return
    }
    const work = runCall(handlers, message).then(([reply, transfer]) =>
      port.postMessage({ replies: [reply] } satisfies Replies, transfer),
    )
    running.add(work)
    void work.finally(() => running.delete(work))
  })
  return { post: (event) => port.postMessage(event) }
}

/**
 * Answers calls in groups: `run` gets the first call and takes as many waiting calls as it likes with `next`. All
 * replies are sent together when it returns. For synchronous handlers that commit a group at once.
 */
export function serveCallGroups(
  run: (first: ThreadCall, next: () => ThreadCall | undefined) => ThreadReply[],
  close: () => void,
): void {
  const port = ownPort()
  let isClosing = false
  const next = (): ThreadCall | undefined => {
    const message = receiveMessageOnPort(port)?.message as ThreadCall | typeof CLOSE | undefined
    if (message !== CLOSE) return message
    isClosing = true
    return undefined
  }
  port.on('message', (message: ThreadCall | typeof CLOSE) => {
    if (message === CLOSE) isClosing = true
    else port.postMessage({ replies: run(message, next) } satisfies Replies)
    if (!isClosing) return
    close()
    endOfThread()
  })
}

/** The reply of a synchronous handler. */
export function replyTo<H extends Callable<H>>(handlers: H, { id, name, args }: ThreadCall): ThreadReply {
  try {
    return { id, value: handlerOf(handlers, name)(...args) }
  } catch (error) {
    return refusalOf(id, error)
  }
}

export function refusalOf(id: number, error: unknown): ThreadReply {
  return { id, error: partsOf(error) }
}

const moved = new WeakMap<object, Transferable[]>()

/** Marks a handler's result, so that these buffers are moved to the caller instead of copied. */
export function withTransfer<T extends object>(value: T, buffers: Transferable[]): T {
  moved.set(value, buffers)
  return value
}

async function runCall<H extends Callable<H>>(
  handlers: H,
  { id, name, args }: ThreadCall,
): Promise<[ThreadReply, Transferable[]]> {
  try {
    const value = await handlerOf(handlers, name)(...args)
    return [{ id, value }, (typeof value === 'object' && value !== null && moved.get(value)) || []]
  } catch (error) {
    return [refusalOf(id, error), []]
  }
}

function isReplies(message: unknown): message is Replies {
  return typeof message === 'object' && message !== null && 'replies' in message
}

function handlerOf(handlers: object, name: string): (...args: unknown[]) => unknown {
  const handler = (handlers as Record<string, unknown>)[name]
  if (typeof handler !== 'function') throw new Error(`the thread has no function ${name}`)
  return handler as (...args: unknown[]) => unknown
}

function ownPort() {
  if (parentPort === null) throw new Error('this file runs as a worker thread')
  return parentPort
}

function endOfThread(): void {
  parentPort?.postMessage(CLOSED)
  parentPort?.close()
}

function partsOf(thrown: unknown): ErrorParts {
  if (!(thrown instanceof Error))
    return { name: 'Error', message: String(thrown), stack: undefined, members: {} }
  const members = Object.entries(thrown).filter(
    ([member, value]) =>
      member !== 'name' && (typeof value !== 'object' || value === null) && typeof value !== 'function',
  )
  const { name, message, stack } = thrown
  return { name, message, stack, members: Object.fromEntries(members) }
}

export function revive(
  { name, message, stack, members }: ErrorParts,
  classes: NonNullable<ThreadCallsOptions['errors']> = [],
): Error {
  const error = Object.assign(new Error(message), members)
  error.name = name
  if (stack !== undefined) error.stack = stack
  const known = classes.find((each) => each.name === name)
  return known === undefined ? error : Object.setPrototypeOf(error, known.prototype)
}
