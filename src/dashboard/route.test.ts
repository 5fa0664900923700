import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Type } from 'typebox'
import { DashboardError, readJsonBody } from './route.ts'

const SignIn = Type.Object({ email: Type.String() }, { additionalProperties: false })

test('a fault of a body names its field and what is wrong with it', () => {
  const refused = (body: string) => {
    const request = { body: Buffer.from(body), headers: { 'content-type': 'application/json' } } as never
    try {
      readJsonBody(SignIn, request)
      return undefined
    } catch (error) {
      return error instanceof DashboardError ? error.message : error
    }
  }
  assert.equal(refused('{"email":"a","name":0}'), 'name is not a field of this body.')
  assert.equal(refused('{"email":1}'), 'email must be string.')
  assert.equal(refused('{"email":"a"}'), undefined)
})
