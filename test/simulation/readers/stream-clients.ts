/**
 * Clients of the stream, with one or several subscriptions, that keep reconnecting and resume where they were,
 * sometimes further back, and that stop reading now and then. Each connection must send exactly what the log has for it
 * after the requested position, once and in order, except for what it declares missing.
 */
import type { Dial } from '../../../src/venues/venue.ts'
import type { SimulatedProcess } from '../process.ts'
import type { Random } from '../random.ts'
import { type Frame, StreamRun } from './stream-run.ts'
import type { LogTruth } from './truth.ts'
import type { Selection } from './world.ts'

const RECONNECT_MS = [200, 4_000] as const
/** A client that receives nothing for this long, not even a ping, closes the connection. */
const SILENCE_MS = 65_000
/** How far back a client that has lost its newest position resumes at most. */
const MAX_STEP_BACK = 400

type Socket = ReturnType<Dial> & { pause(): void; resume(): void }

interface StreamClientParts {
  readonly process: SimulatedProcess
  readonly dial: Dial
  readonly url: () => string
  readonly random: Random
  /** The newest number that the log has dropped, if known. */
  readonly droppedSeq?: () => number
}

export class StreamClient {
  readonly name: string
  readonly #selections: readonly Selection[]
  readonly #parts: StreamClientParts
  readonly #found: string[] = []
  /** Connections that have ended, until they are compared. */
  #ended: StreamRun[] = []
  #run: StreamRun | undefined
  /** Everything up to here was received, in all connections together; undefined before the first. */
  #position: number | undefined
  #received = 0
  #connections = 0
  #isStopped = false

  constructor(name: string, selections: readonly Selection[], parts: StreamClientParts) {
    this.name = name
    this.#selections = selections
    this.#parts = parts
    this.#connect()
  }

  get connections(): number {
    return this.#connections
  }

  get received(): number {
    return this.#received
  }

  stop(): void {
    this.#isStopped = true
  }

  #connect(): void {
    const { dial, url, process, random, droppedSeq } = this.#parts
    const { clock } = process
    const socket = dial(url()) as Socket
    this.#connections++
    const run = new StreamRun(this.#selections, droppedSeq)
    this.#run = run
    let cancelSilence = () => {}
    const heard = () => {
      cancelSilence()
      cancelSilence = clock.after?.(SILENCE_MS, () => socket.terminate()) ?? (() => {})
    }
    heard()
    socket.on('message', (data: Buffer) => {
      heard()
      const text = data.toString('utf8')
      const frame = JSON.parse(text) as Frame
      if (frame.type === 'welcome') this.#subscribe(socket)
      else {
        if (frame.type === 'event') this.#received++
        run.take(frame, text)
        this.#moveTo(run)
      }
    })
    socket.on('ping', heard)
    // The client disconnects on its own after a second up to some minutes, in the middle of anything.
    const leaveMs = Math.round(1_000 * 600 ** random())
    const cancels = [clock.after?.(leaveMs, () => socket.terminate())]
    if (random.chance(0.2)) {
      // It stops reading for a while, so that unsent data accumulates in the service.
      const pauseMs = random.int(0, 60_000)
      cancels.push(clock.after?.(pauseMs, () => socket.pause()))
      cancels.push(clock.after?.(pauseMs + Math.round(100 * 600 ** random()), () => socket.resume()))
    }
    socket.on('close', () => {
      cancelSilence()
      for (const cancel of cancels) cancel?.()
      if (this.#run === run) this.#ended.push(run)
      if (!this.#isStopped) clock.after?.(random.int(...RECONNECT_MS), () => this.#connect())
    })
  }

  #moveTo({ position }: StreamRun): void {
    if (position !== undefined) this.#position = Math.max(position, this.#position ?? 0)
  }

  #subscribe(socket: Socket): void {
    const { random } = this.#parts
    const back = random.chance(0.15) ? random.int(1, MAX_STEP_BACK) : 0
    const resume = this.#position === undefined ? undefined : Math.max(0, this.#position - back)
    for (const [index, { kinds, addresses }] of this.#selections.entries())
      socket.send(
        JSON.stringify({
          ...{ op: 'subscribe', id: `s${index}`, kinds, addresses },
          ...(resume === undefined ? {} : { resume_after: resume }),
        }),
      )
  }

  /** Compares everything up to a number. `isComplete`: the client had enough time to receive all of it. */
  compare(truth: LogTruth, upToSeq: number, isComplete: boolean): string[] {
    for (const run of this.#ended.splice(0)) this.#found.push(...run.compare(truth))
    if (this.#run !== undefined) this.#found.push(...this.#run.compare(truth))
    if (isComplete && this.#position === undefined) this.#found.push('6 # was never subscribed')
    if (isComplete && this.#position !== undefined && this.#run !== undefined) {
      const missed = this.#run.expected(truth, this.#position, upToSeq)[0]
      if (missed !== undefined) this.#found.push(`6 #: event ${missed.seq} has not come`)
    }
    return this.#found.map((text) => text.replace('#', this.name))
  }
}
