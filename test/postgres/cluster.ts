/**
 * A PostgreSQL cluster of the tests' own: in a temporary folder, on a free port, gone afterwards. It refuses to run as
 * root, so root starts it as the user `postgres`.
 */
import {
  type ChildProcess,
  execFile,
  execFileSync,
  type SpawnOptions,
  spawn,
  spawnSync,
} from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Client } from 'pg'
import { freePort } from '../free-port.ts'

export interface Cluster {
  /** `postgres://postgres@127.0.0.1:…/postgres`. */
  readonly address: string
  readonly port: number
  readonly pid: number
  /** `kill -9` of the server: resolves when nothing of it runs any more. */
  crash(): Promise<void>
  /** After a crash. */
  restart(): Promise<void>
  /** Runs a statement as its administrator. */
  query(text: string): Promise<Record<string, unknown>[]>
  stop(): Promise<void>
  /** Without waiting. */
  kill(): void
}

const START_MS = 30_000
/** The server of a run has no standby, and mostly writes tables that are dropped again. */
const UNREPLICATED = ['wal_level=minimal', 'max_wal_senders=0', 'full_page_writes=off']
const run = promisify(execFile)

/** The folder of `initdb` and `postgres`; undefined where PostgreSQL is not installed. */
function postgresPrograms(): string | undefined {
  const installed = globSync('/usr/lib/postgresql/*/bin/initdb').sort((a, b) => versionOf(b) - versionOf(a))
  const onPath = (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, 'initdb'))
  const initdb = [...installed, ...onPath].find((file) => existsSync(file))
  return initdb === undefined ? undefined : dirname(initdb)
}

/** For the `skip` of tests that kill a server: they need one of their own, whatever server the run uses. */
export const withoutPrograms: string | false =
  postgresPrograms() === undefined
    ? 'PostgreSQL is not installed here, and this needs servers of its own'
    : false

function versionOf(file: string): number {
  return Number(/\/(\d+)\/bin/.exec(file)?.[1] ?? 0)
}

/** Started unless TAPELINE_TEST_POSTGRES names a server; its address is set there for the processes of the tests. */
export async function clusterOfRun(): Promise<Cluster | undefined> {
  if (process.env.TAPELINE_TEST_POSTGRES) return undefined
  if (postgresPrograms() === undefined) {
    process.stdout.write('PostgreSQL is not installed: the tests that need it are skipped.\n')
    return undefined
  }
  const cluster = await startCluster({ settings: UNREPLICATED })
  process.env.TAPELINE_TEST_POSTGRES = cluster.address
  // Also when the run is ended from outside.
  process.once('exit', () => cluster.kill())
  return cluster
}

interface ClusterOptions {
  /** Starts as a standby that follows that cluster. */
  from?: Cluster
  /** On these files, which another one had. */
  restored?: string
  /** `name=value`. */
  settings?: readonly string[]
}

/** Empty, unless the options say otherwise. */
export async function startCluster({ from, restored, settings = [] }: ClusterOptions = {}): Promise<Cluster> {
  const programs = postgresPrograms()
  if (programs === undefined) throw new Error('PostgreSQL is not installed')
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-postgres-'))
  const as = owner()
  if (as.uid !== undefined) chownSync(folder, as.uid, as.gid as number)
  const data = restored ?? join(folder, 'data')
  if (restored !== undefined && as.uid !== undefined)
    execFileSync('chown', ['-R', `${as.uid}:${as.gid}`, restored])
  const [program, ...args] =
    from === undefined
      ? ['initdb', '-D', data, '-A', 'trust', '-U', 'postgres', '-E', 'UTF8', '--locale=C', '--no-sync']
      : ['pg_basebackup', '-D', data, '-R', '-d', from.address, '--checkpoint=fast', '--no-sync']
  if (restored === undefined)
    await run(join(programs, program as string), args, { ...as, cwd: folder } as object)
  const port = await freePort()
  const options = [
    'listen_addresses=127.0.0.1',
    `unix_socket_directories=${folder}`,
    'max_connections=300',
    // Durability is tested by killing processes, never the machine.
    'fsync=off',
    ...settings,
  ].flatMap((setting) => ['-c', setting])
  const address = `postgres://postgres@127.0.0.1:${port}/postgres`
  let log = ''

  async function begin(): Promise<ChildProcess> {
    const server = spawn(join(programs as string, 'postgres'), ['-D', data, '-p', String(port), ...options], {
      ...as,
      cwd: folder,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    server.stderr?.on('data', (chunk: Buffer) => {
      log = (log + chunk.toString()).slice(-4_000)
    })
    const deadline = performance.now() + START_MS
    while (!isAccepting(programs as string, port)) {
      if (server.exitCode !== null || performance.now() > deadline)
        throw new Error(`PostgreSQL did not start: ${log}`)
      await wait(50)
    }
    return server
  }
  const isRunning = ({ exitCode, signalCode }: ChildProcess) => exitCode === null && signalCode === null
  const end = async (signal: 'SIGINT' | 'SIGKILL') => {
    if (!isRunning(server)) return
    const ended = once(server, 'exit')
    server.kill(signal)
    await ended
  }

  let server = await begin()
  return {
    address,
    port,
    get pid() {
      return server.pid ?? 0
    },
    async crash() {
      const children = childrenOf(server.pid)
      await end('SIGKILL')
      for (const pid of children) endProcess(pid)
    },
    async restart() {
      const deadline = performance.now() + START_MS
      for (;;) {
        try {
          server = await begin()
          return
        } catch (error) {
          // As long as the kernel has not ended all processes of the old one.
          if (performance.now() > deadline) throw error
          await wait(50)
        }
      }
    },
    async query(text) {
      const client = new Client({ connectionString: address })
      client.on('error', () => {})
      await client.connect()
      try {
        return (await client.query(text)).rows
      } finally {
        await client.end()
      }
    },
    async stop() {
      await end('SIGINT')
      rmSync(folder, { recursive: true, force: true })
    },
    kill() {
      if (isRunning(server)) server.kill('SIGKILL')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function childrenOf(pid: number | undefined): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number)
}

function endProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended already.
  }
}

function isAccepting(programs: string, port: number): boolean {
  return spawnSync(join(programs, 'pg_isready'), ['-q', '-h', '127.0.0.1', '-p', String(port)]).status === 0
}

function owner(): Pick<SpawnOptions, 'uid' | 'gid'> {
  if (process.getuid?.() !== 0) return {}
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}
