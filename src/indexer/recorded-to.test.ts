import assert from 'node:assert/strict'
import { test } from 'node:test'
import { storesIn } from '../../test/fakes/stores.ts'
import { writeNext } from '../store/conformance/chain-engine.ts'
import { recordedTo } from './recorded-to.ts'

const hash = (n: number) => String(n).repeat(64)
const block = (n: number) => ({ hash: hash(n), blueScore: n * 2, daaScore: n, timeMs: n * 1_000 })
const added = (n: number) => ({ ...block(n), transactions: [] })

test('blocks are recorded up to the first followed one that was not seen', async () => {
  const { chain, close } = storesIn(':memory:').chain('test')
  assert.equal(await recordedTo(chain), undefined)
  await writeNext(chain, { atMs: 1, start: block(1), added: [2, 3, 4, 5].map(added), seen: [1, 2].map(hash) })
  assert.equal((await recordedTo(chain))?.hash, hash(2))
  await writeNext(chain, { atMs: 2, seenTo: block(3), seen: [hash(4)] })
  assert.equal((await recordedTo(chain))?.hash, hash(2))
  await writeNext(chain, { atMs: 3, seen: [hash(3)] })
  assert.equal((await recordedTo(chain))?.hash, hash(4))
  await writeNext(chain, { atMs: 4, seen: [hash(5)] })
  assert.equal(await recordedTo(chain), undefined)
  await close()
})
