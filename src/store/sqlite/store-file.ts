import type { DatabaseSync } from 'node:sqlite'
import type { RandomBytes } from '../../kit/random.ts'
import { threadCalls } from '../../kit/thread-calls.ts'
import { ConflictError } from '../accounts.ts'
import { CheckpointMovedError } from '../chain.ts'
import { StoreClosedError } from '../environment.ts'
import type { Migration } from '../migration.ts'
import type { RestingWork } from '../rows/work-in-turns.ts'
import { type CacheUse, cacheBytesFor } from './cache-sizes.ts'
import { inlineWriter, type Operations, type Writer, type Writes } from './group-commit.ts'
import { migrate } from './migrate.ts'
import { openDatabase } from './open.ts'
import { writeFailure } from './write-failure.ts'
import type { WriterThreadData } from './writer-thread.ts'

export interface StoreFileOptions {
  /** A path, or `:memory:`, which is not persistent and is written on the calling thread. */
  file: string
  /** Memory for all caches; every connection takes its share of it. */
  cacheMb?: number
  /** `inline`: writes run on the calling thread, over a separate connection as in a thread. */
  writes?: 'thread' | 'inline'
  sync?: 'normal' | 'off'
  /** Replaces the engine's random source. */
  randomBytes?: RandomBytes
}

/** How a store uses its file. */
interface FileKind<Ops extends Operations> {
  name: WriterThreadData['name']
  migrations: readonly Migration[]
  writes: (database: DatabaseSync) => Writes<Ops>
  readerCache: CacheUse
  writerCache: CacheUse
  pageBytes?: number
  /** Writes run on the calling thread and over its reading connection, for a thread that does nothing else. */
  inline?: boolean
  /** The writer's `ready` waits while calls of this total weight are in flight. */
  maxWeight?: number
}

type Functions<F> = { [N in keyof F]: (...args: never[]) => unknown }
type Async<F extends Functions<F>> = {
  [N in keyof F]: (...args: Parameters<F[N]>) => Promise<Awaited<ReturnType<F[N]>>>
}

const THREAD = new URL('./writer-thread.ts', import.meta.url)

/**
 * Opens a database file of the embedded engine. Reads use a connection of the calling thread. Writes run in a separate
 * thread, which the first write starts, and which the next write restarts if it has died. Other processes may open the
 * same file; they wait for each other's write lock. After `close` all calls are refused.
 */
export function openStoreFile<Ops extends Operations>(
  { file, cacheMb, writes = 'thread', sync = 'normal', randomBytes }: StoreFileOptions,
  { name, pageBytes, inline, maxWeight, ...kind }: FileKind<Ops>,
) {
  const database = openDatabase({
    file,
    cacheBytes: cacheBytesFor(kind.readerCache, cacheMb),
    sync,
    ...(pageBytes === undefined ? {} : { pageBytes }),
  })
  if (randomBytes !== undefined) database.function('randomblob', (count) => randomBytes(Number(count)))
  try {
    migrate(database, name, kind.migrations)
  } catch (error) {
    database.close()
    throw error
  }
  const data: WriterThreadData = { name, file, cacheBytes: cacheBytesFor(kind.writerCache, cacheMb), sync }
  const openCalls = (): Writer<Ops> => {
    if (inline === true || file === ':memory:') return inlineWriter(database, kind.writes(database))
    if (writes === 'inline') {
      const own = openDatabase(data)
      return inlineWriter(own, kind.writes(own), () => own.close())
    }
    return threadCalls<Ops>(THREAD, {
      name: `${name} writer`,
      data,
      errors: [ConflictError, CheckpointMovedError],
      startOnCall: true,
      ...(maxWeight === undefined ? {} : { maxWeight }),
    })
  }
  const calls = openCalls()
  let closing: Promise<void> | undefined
  const isClosed = () => closing !== undefined
  const writer: Writer<Ops> = {
    ...calls,
    call: (...args) =>
      isClosed()
        ? Promise.reject(new StoreClosedError())
        : calls.call(...args).catch((error: unknown) => {
            throw writeFailure(error, name)
          }),
  }

  return {
    database,
    writer,
    isClosed,
    /** The file may be closed while the work rests. */
    *untilClosed<T>(work: RestingWork<T>): RestingWork<T> {
      for (;;) {
        if (isClosed()) throw new StoreClosedError()
        const next = work.next()
        if (next.done) return next.value
        yield
      }
    },
    /** Turns functions of the engine into functions of the port. */
    functions<F extends Functions<F>>(own: F): Async<F> {
      const wrapped = Object.entries<(...args: never[]) => unknown>(own).map(([member, run]) => [
        member,
        async (...args: never[]) => {
          if (isClosed()) throw new StoreClosedError()
          return run(...args)
        },
      ])
      return Object.fromEntries(wrapped) as Async<F>
    },
    /** Exposes operations of the writer that take the port's own arguments as functions of the port. */
    writes<N extends keyof Ops & string>(names: readonly N[]): Pick<Async<Ops>, N> {
      const wrapped = names.map((member) => [
        member,
        (...args: Parameters<Ops[N]>) => writer.call(member, args),
      ])
      return Object.fromEntries(wrapped) as Pick<Async<Ops>, N>
    },
    /**
     * `others`: whatever else reads the file. This connection is closed last, because it can write and so tidies up the
     * file.
     */
    close(others: Promise<unknown> = Promise.resolve()): Promise<void> {
      closing ??= Promise.all([calls.close(), others]).then(() => database.close())
      return closing
    },
  }
}
