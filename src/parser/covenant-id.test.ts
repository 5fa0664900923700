import assert from 'node:assert/strict'
import { test } from 'node:test'
import { genesisCovenantId } from './covenant-id.ts'

/** Founding outpoints and covenant ids of three covenants of testnet-10; all have the same single output. */
const REAL: [string, number, string][] = [
  [
    'd2210d4a77b5c5fb3f585b21b629c7f1d747d50af53462471862c88f991580eb',
    1,
    'ca0f3174b478ebbaced29b6d78d51d5f809b9a8ef8541e13a8eb116e44110507',
  ],
  [
    '10fb8a199f0e21e4f3f3b75790ef7c8e7cebd241be994d312742c18175bf419d',
    1,
    'de4a346a51c22c54e6a838e7e1af5aa8df140f24d2b2296c3fb520349c5c0ef6',
  ],
  [
    '6b76e307c84420f99e7e74d07584c9b11883dd3eda9e1f89e3e22f584c30ec3e',
    1,
    '2b8b6ca52dba206699c016d78227c4a8859e7528d25e46242a01d3e46aaefd0e',
  ],
]
const OUTPUT = {
  value: 100_000_000n,
  scriptPublicKey: '0000aa20c5608c8a1186226b7822a7485effadbaeca493f90e7f1803404d32b6af90cf8a87',
  covenant: null,
}

test('real covenants have the id of their founding outpoint and output', () => {
  for (const [transactionId, index, covenantId] of REAL) {
    assert.equal(genesisCovenantId({ transactionId, index }, [{ index: 0, output: OUTPUT }]), covenantId)
  }
})

test('outpoint, output index and value all enter the id', () => {
  const [transactionId] = REAL[0] ?? ['']
  const ids = new Set([
    genesisCovenantId({ transactionId, index: 1 }, [{ index: 0, output: OUTPUT }]),
    genesisCovenantId({ transactionId, index: 0 }, [{ index: 0, output: OUTPUT }]),
    genesisCovenantId({ transactionId, index: 1 }, [{ index: 1, output: OUTPUT }]),
    genesisCovenantId({ transactionId, index: 1 }, [{ index: 0, output: { ...OUTPUT, value: 1n } }]),
    genesisCovenantId({ transactionId, index: 1 }, []),
  ])
  assert.equal(ids.size, 5)
})
