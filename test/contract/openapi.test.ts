import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Validator } from '@seriousme/openapi-schema-validator'
import { ENDPOINTS } from '../../src/api/endpoints/list.ts'
import { checkDeclarations } from '../../src/api/publish/check.ts'
import recorded from '../../src/api/publish/examples.json' with { type: 'json' }
import { committedOpenapi, openapiDocument } from '../../src/api/publish/openapi.ts'
import { publishedRoutes } from '../../src/api/publish/router.ts'
import { ParamRefusal } from '../../src/contract/params.ts'
import { documentSchemas } from '../fakes/document-schemas.ts'
import { expandDocument } from '../fakes/expand-document.ts'
import type { Document } from '../fakes/try-it.ts'

const published = JSON.parse(JSON.stringify(committedOpenapi(ENDPOINTS))) as Document
const document = expandDocument(published)
const MAX_BYTES = 250_000

test('openapi.json is what the declarations give (npm run openapi writes it)', () => {
  const committed: unknown = JSON.parse(readFileSync(join(import.meta.dirname, '../../openapi.json'), 'utf8'))
  assert.deepEqual(committed, published)
})

test('the document is small enough to be read at once', () => {
  const bytes = Buffer.byteLength(JSON.stringify(published))
  assert.ok(bytes <= MAX_BYTES, `${bytes} bytes`)
})

test('the document is valid OpenAPI 3.1', async () => {
  const result = await new Validator().validate(
    structuredClone(published) as unknown as Record<string, unknown>,
  )
  assert.deepEqual(result.errors ?? [], [])
  assert.equal(result.valid, true)
})

const schemas = documentSchemas(document)
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
)
/** They describe themselves: an example would be the document in the document. */
const WITHOUT_EXAMPLE = ['/openapi.json', '/asyncapi.json']

test('every operation shows an answer, and every example of an answer and of a body fits its own schema', () => {
  const wrong: string[] = []
  for (const { path, method, operation } of operations) {
    const check = (pointer: string[], { example }: { example?: unknown }) => {
      if (example === undefined) return
      const faults = schemas.faultsAt(['paths', path, method, ...pointer, 'schema'], example)
      if (faults !== '') wrong.push(`${method} ${path} ${pointer.join(' ')}: ${faults}`)
    }
    for (const [status, { content = {} }] of Object.entries(operation.responses)) {
      for (const [type, media] of Object.entries(content)) {
        check(['responses', status, 'content', type], media)
        assert.ok(!('examples' in media), 'one example each')
      }
    }
    const success = operation.responses['200'] ?? operation.responses['201']
    const shows = success?.content?.['application/json']?.example !== undefined
    assert.equal(shows, !WITHOUT_EXAMPLE.includes(path), `${path}: npm run examples records the answers`)
    const type = 'application/json'
    if (operation.requestBody) {
      check(['requestBody', 'content', type], operation.requestBody.content[type])
    }
  }
  assert.deepEqual(wrong, [])
})

test('what an answer shows as a time has the format of a time', () => {
  const found = { times: 0, texts: new Set<string>() }
  for (const { path, method, operation } of operations) {
    for (const [status, { content = {} }] of Object.entries(operation.responses)) {
      const { example } = content['application/json'] ?? {}
      const pointer = ['paths', path, method, 'responses', status, 'content', 'application/json', 'schema']
      for (const { name, changed } of withoutTimes(example)) {
        found.times++
        if (schemas.faultsAt(pointer, changed) === '') found.texts.add(`${path} ${name}`)
      }
    }
  }
  assert.deepEqual([...found.texts], [])
  assert.ok(found.times > 100, String(found.times))
})

/** An answer once for each time in it, with a text in its place. */
function* withoutTimes(value: unknown, name = ''): Generator<{ name: string; changed: unknown }> {
  if (typeof value === 'string' && /^\d{4}-\d{2}-\d{2}T/.test(value)) yield { name, changed: 'a text' }
  if (typeof value !== 'object' || value === null) return
  for (const [member, inner] of Object.entries(value)) {
    for (const { name: found, changed } of withoutTimes(inner, member)) {
      const copy = Array.isArray(value) ? [...value] : { ...value }
      Object.assign(copy, { [member]: changed })
      yield { name: found, changed: copy }
    }
  }
}

test('what is shared says what was written out: parameters, answers, and schemas without one reference', () => {
  const whole = JSON.parse(JSON.stringify(openapiDocument(ENDPOINTS))) as Document
  for (const { path, method, operation } of operations) {
    const written = whole.paths[path]?.[method]
    assert.deepEqual(operation.parameters, written?.parameters, path)
    assert.deepEqual(Object.keys(operation.responses), Object.keys(written?.responses ?? {}), path)
  }
  // One schema and the other take the same values: recorded answers, and those with a member less or of another type.
  const wholeSchemas = documentSchemas(whole)
  let refused = 0
  for (const { path, method, operation } of operations) {
    for (const [status, { content = {} }] of Object.entries(operation.responses)) {
      const { example } = content['application/json'] ?? {}
      if (example === undefined) continue
      const pointer = ['paths', path, method, 'responses', status, 'content', 'application/json', 'schema']
      for (const value of changesOf(example)) {
        const isFit = wholeSchemas.faultsAt(pointer, value) === ''
        assert.equal(schemas.faultsAt(pointer, value) === '', isFit, `${path} ${JSON.stringify(value)}`)
        if (!isFit) refused++
      }
    }
  }
  assert.ok(refused > 300, String(refused))
})

/** An answer, and the same with each member of itself and of its first row taken away, made null or an object. */
function* changesOf(example: unknown): Generator<unknown> {
  yield example
  const root = example as Record<string, unknown>
  for (const name of Object.keys(root)) {
    const { [name]: value, ...rest } = root
    yield rest
    const [row] = [value].flat()
    if (typeof row !== 'object' || row === null) continue
    for (const [field, inner] of Object.entries(row)) {
      const { [field]: _gone, ...less } = row as Record<string, unknown>
      for (const changed of [less, { ...row, [field]: null }, { ...row, [field]: { in: inner } }]) {
        yield { ...root, [name]: Array.isArray(value) ? [changed] : changed }
      }
    }
  }
}

test('an example shows rows of the source that its path is bound to, and its meta agrees with them', () => {
  const byPath = new Map(publishedRoutes(ENDPOINTS).map((route) => [`${route.method} ${route.path}`, route]))
  let rows = 0
  for (const { path, method, operation } of operations) {
    const bound = byPath.get(`${method.toUpperCase()} ${path}`)?.bound ?? {}
    const { data, meta } = (operation.responses['200']?.content?.['application/json']?.example ?? {}) as {
      data?: { source?: string }[] | { source?: string }
      meta?: { count: number; returned: number; source: string | null }
    }
    if (data === undefined || path === '/v1/sources') continue
    const shown = [data].flat()
    assert.ok(shown.length > 0, `${path} shows a row`)
    assert.equal(meta?.count, shown.length, path)
    assert.equal(meta?.returned, shown.length, path)
    // A path whose rows look like those of its endpoint shows an answer of the endpoint.
    const isOwn = Object.hasOwn(recorded.answers, `${method.toUpperCase()} ${path}`)
    if (bound.source === undefined || !isOwn) continue
    assert.equal(meta?.source, bound.source, path)
    for (const row of shown) {
      rows++
      assert.equal(row.source, bound.source, path)
    }
  }
  assert.ok(rows > 5, String(rows))
})

test('every example of a parameter is accepted by the parameter; only those that must be given have one', () => {
  const byPath = new Map(publishedRoutes(ENDPOINTS).map((route) => [`${route.method} ${route.path}`, route]))
  const wrong: string[] = []
  for (const { path, method, operation } of operations) {
    const params = byPath.get(`${method.toUpperCase()} ${path}`)?.params ?? {}
    for (const { name, example, required } of operation.parameters) {
      if (example === undefined) continue
      const read = params[name]?.read(String(example))
      if (read === undefined || read instanceof ParamRefusal) wrong.push(`${path} ${name}=${example}`)
      // A symbol works everywhere; any other filter could turn a full page into an empty one.
      const mustBe = required || params[name]?.requiredUnless !== undefined
      if (!mustBe && name !== 'symbol') wrong.push(`${path} ${name} may be left out`)
    }
  }
  assert.deepEqual(wrong, [])
})

test('the start-up check accepts the declarations and refuses an incomplete one', () => {
  checkDeclarations(ENDPOINTS)
  const [first] = ENDPOINTS
  if (first === undefined) throw new Error('no endpoints')
  const faulty = [
    [{ doc: { ...first.doc, summary: ' ' } }, /no summary/],
    [{ path: '/v1/{thing}' }, /\{thing\}, which is not declared/],
    [{ access: { ...first.access, auth: 'none' as const } }, /cannot cost credits/],
    [{ access: { ...first.access, intervalGate: 'interval' } }, /intervalGate names no parameter/],
    [
      { aliases: [{ method: 'GET' as const, path: '/v1/a', bound: { x: 1 } }] },
      /binds x, which is not declared/,
    ],
  ] as const
  for (const [change, message] of faulty) {
    assert.throws(() => checkDeclarations([{ ...first, ...change }]), message)
  }
  assert.throws(() => checkDeclarations([first, first]), /declared twice/)
})
