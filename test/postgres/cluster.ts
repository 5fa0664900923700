/**
 * A PostgreSQL cluster of the tests' own: in a temporary folder, on a free port, gone afterwards. It refuses to run as
 * root, so root starts it as the user `postgres`.
 */
import { execFileSync, type SpawnOptions, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, globSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'

export interface Cluster {
  /** `postgres://postgres@127.0.0.1:…/postgres`. */
  readonly address: string
  readonly port: number
  readonly folder: string
  stop(): Promise<void>
  /** Without waiting. */
  kill(): void
}

const START_MS = 30_000

/** The folder of `initdb` and `postgres`; undefined where PostgreSQL is not installed. */
function postgresPrograms(): string | undefined {
  const installed = globSync('/usr/lib/postgresql/*/bin/initdb').sort((a, b) => versionOf(b) - versionOf(a))
  const onPath = (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, 'initdb'))
  const initdb = [...installed, ...onPath].find((file) => existsSync(file))
  return initdb === undefined ? undefined : dirname(initdb)
}

function versionOf(file: string): number {
  return Number(/\/(\d+)\/bin/.exec(file)?.[1] ?? 0)
}

/** Started unless TAPELINE_TEST_POSTGRES names a server; its address is set there for the processes of the tests. */
export async function clusterOfRun(): Promise<Cluster | undefined> {
  if (process.env.TAPELINE_TEST_POSTGRES) return undefined
  const programs = postgresPrograms()
  if (programs === undefined) {
    process.stdout.write('PostgreSQL is not installed: the tests that need it are skipped.\n')
    return undefined
  }
  const cluster = await startCluster(programs)
  process.env.TAPELINE_TEST_POSTGRES = cluster.address
  // Also when the run is ended from outside.
  process.once('exit', () => cluster.kill())
  return cluster
}

async function startCluster(programs: string, settings: readonly string[] = []): Promise<Cluster> {
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-postgres-'))
  const as = owner()
  if (as.uid !== undefined) chownSync(folder, as.uid, as.gid as number)
  const data = join(folder, 'data')
  const made = spawnSync(
    join(programs, 'initdb'),
    ['-D', data, '-A', 'trust', '-U', 'postgres', '-E', 'UTF8', '--locale=C', '--no-sync'],
    { ...as, encoding: 'utf8', cwd: folder },
  )
  if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr}`)
  const port = await freePort()
  const options = [
    'listen_addresses=127.0.0.1',
    `unix_socket_directories=${folder}`,
    'max_connections=300',
    // What must survive is proven by killing processes, never the machine.
    'fsync=off',
    ...settings,
  ].flatMap((setting) => ['-c', setting])
  const server = spawn(join(programs, 'postgres'), ['-D', data, '-p', String(port), ...options], {
    ...as,
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let log = ''
  server.stderr?.on('data', (chunk: Buffer) => {
    log = (log + chunk.toString()).slice(-4_000)
  })
  const ended = once(server, 'exit')
  const address = `postgres://postgres@127.0.0.1:${port}/postgres`
  const deadline = performance.now() + START_MS
  while (!isAccepting(programs, port)) {
    if (server.exitCode !== null || performance.now() > deadline)
      throw new Error(`PostgreSQL did not start: ${log}`)
    await wait(50)
  }
  return {
    address,
    port,
    folder,
    async stop() {
      server.kill('SIGINT')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
    kill() {
      if (server.exitCode !== null) return
      server.kill('SIGKILL')
      rmSync(folder, { recursive: true, force: true })
    },
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

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}
