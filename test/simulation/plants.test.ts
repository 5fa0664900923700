import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { PLANTS } from './plants.ts'

const ROOT = new URL('../../', import.meta.url)

test('every planted defect has its place in the service, once', () => {
  for (const { name, edits } of PLANTS)
    for (const { file, find } of edits) {
      const places = readFileSync(new URL(file, ROOT), 'utf8').split(find).length - 1
      assert.equal(places, 1, `"${name}" in ${file}`)
    }
})
