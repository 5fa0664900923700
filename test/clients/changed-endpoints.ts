/** The declarations with a new endpoint, a new parameter and a new field: nothing else knows of them. */
import assert from 'node:assert/strict'
import { Type } from 'typebox'
import { ENDPOINTS } from '../../src/api/endpoints/list.ts'
import { funding } from '../../src/api/endpoints/market/funding.ts'
import { endpoint } from '../../src/api/endpoints/services.ts'
import { flat } from '../../src/contract/costs.ts'
import { list } from '../../src/contract/endpoint.ts'
import { integer, optional, rowsPage, text } from '../../src/contract/params.ts'
import { numberField, timeField } from '../../src/core/rows/fields.ts'
import { FundingRow } from '../../src/core/rows/schemas.ts'

const run = () => assert.fail('only what it declares is looked at')
const changed = endpoint({
  ...funding,
  path: 'GET /v1/funding',
  params: { ...funding.params, min_rate: optional(integer('Lowest rate.', { min: 0, max: 9 })) },
  returns: list(
    'Funding',
    Type.Object({ ...FundingRow.properties, predicted_rate: numberField('The next rate.') }),
  ),
  run,
})
const sentiment = endpoint({
  path: 'GET /v1/market-sentiment',
  doc: { tag: 'market', summary: 'Fear and greed' },
  access: { scope: 'market' },
  params: {
    word: text('Which word.', { pattern: /^[a-z]+$/, expected: 'a word' }),
    ...rowsPage({ default: 5, max: 10 }),
  },
  cost: flat(1),
  returns: list('Sentiment', Type.Object({ timestamp: timeField('When.'), fear: numberField('How much.') })),
  run,
})

export const CHANGED_ENDPOINTS = [...ENDPOINTS.filter((each) => each !== funding), changed, sentiment]
