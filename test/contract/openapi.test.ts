import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Validator } from '@seriousme/openapi-schema-validator'
import { ENDPOINTS } from '../../src/api/endpoints/list.ts'
import { checkDeclarations } from '../../src/api/publish/check.ts'
import { openapiDocument } from '../../src/api/publish/openapi.ts'
import { publishedRoutes } from '../../src/api/publish/router.ts'
import { ParamRefusal } from '../../src/contract/params.ts'
import { documentSchemas } from '../fakes/document-schemas.ts'
import type { Document } from '../fakes/try-it.ts'

const document = JSON.parse(JSON.stringify(openapiDocument(ENDPOINTS))) as Document

test('openapi.json is what the declarations give (npm run openapi writes it)', () => {
  const committed: unknown = JSON.parse(readFileSync(join(import.meta.dirname, '../../openapi.json'), 'utf8'))
  assert.deepEqual(committed, document)
})

test('the document is valid OpenAPI 3.1', async () => {
  const result = await new Validator().validate(
    structuredClone(document) as unknown as Record<string, unknown>,
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
    if (bound.source === undefined) continue
    assert.equal(meta?.source, bound.source, path)
    for (const row of shown) {
      rows++
      assert.equal(row.source, bound.source, path)
    }
  }
  assert.ok(rows > 20, String(rows))
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
