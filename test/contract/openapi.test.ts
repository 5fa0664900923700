import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { Refusal } from '../../src/api/contract/params.ts'
import { ENDPOINTS } from '../../src/api/endpoints/list.ts'
import { checkDeclarations } from '../../src/api/publish/check.ts'
import { openapiDocument } from '../../src/api/publish/openapi.ts'
import { routesOf } from '../../src/api/publish/router.ts'

const document = JSON.parse(JSON.stringify(openapiDocument(ENDPOINTS))) as {
  components: { schemas: Record<string, object> }
}

test('openapi.json is what the declarations give (npm run openapi writes it)', () => {
  const committed: unknown = JSON.parse(readFileSync(join(import.meta.dirname, '../../openapi.json'), 'utf8'))
  assert.deepEqual(committed, document)
})

test('the document is valid OpenAPI 3.1', async () => {
  const result = await new Validator().validate(structuredClone(document))
  assert.deepEqual(result.errors ?? [], [])
  assert.equal(result.valid, true)
})

test('every example of an answer, a row and a body fits its schema', () => {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  addFormats.default(ajv)
  ajv.addSchema({ $id: 'doc', ...document })
  const wrong: string[] = []
  const check = (name: string, example: unknown) => {
    const validate = ajv.getSchema(`doc#/components/schemas/${name}`)
    if (validate === undefined) wrong.push(`${name} is not published`)
    else if (!validate(example)) wrong.push(`${name}: ${ajv.errorsText(validate.errors)}`)
  }
  for (const endpoint of ENDPOINTS) {
    const { returns } = endpoint
    const name = returns.kind === 'list' ? (returns.envelope?.name ?? returns.name) : returns.name
    check(name, endpoint.doc.example)
    if (endpoint.body) check(endpoint.body.name, endpoint.body.example)
  }
  assert.deepEqual(wrong, [])
})

test('every example of a parameter is accepted by the parameter', () => {
  const wrong = routesOf(ENDPOINTS).flatMap((route) =>
    Object.entries(route.params)
      .filter(([, param]) => param.read(String(param.example)) instanceof Refusal)
      .map(([name, param]) => `${route.path} ${name}=${param.example}`),
  )
  assert.deepEqual(wrong, [])
})

test('the start-up check takes the declarations and refuses an incomplete one', () => {
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
