import assert from 'node:assert/strict'
import { test } from 'node:test'
import { classifyRefusal, isAlreadyKnown } from './classify.ts'

const ID = 'aa'.repeat(32)
const OTHER = 'bb'.repeat(32)
const PARENT = 'cc'.repeat(32)
const rejected = (reason: string) => classifyRefusal(`Rejected transaction ${ID}: ${reason}`)

test('every error text of the protocol page has its reason', () => {
  const cases: [string, string, boolean][] = [
    [`Rejected transaction ${ID}: transaction ${ID} is already in the mempool`, 'already_in_mempool', false],
    [
      `Rejected transaction ${ID}: transaction ${ID} was already accepted by the consensus`,
      'already_accepted',
      false,
    ],
    [
      `Rejected transaction ${ID}: output (${PARENT}, 1) already spent by transaction ${OTHER} in the mempool`,
      'double_spend',
      false,
    ],
    [`Rejected transaction ${ID}: transaction ${ID} is an orphan where orphan is disallowed`, 'orphan', true],
    [
      `Rejected transaction ${ID}: at least one outpoint of the transaction is lacking a matching UTXO entry`,
      'orphan',
      true,
    ],
    [
      `Rejected transaction ${ID}: transaction storage mass of 600000 is larger than max allowed size of 500000`,
      'mass_too_large',
      false,
    ],
    [
      `Rejected transaction ${ID}: transaction transient (storage) mass of 2 is larger than max allowed size of 1`,
      'mass_too_large',
      false,
    ],
    [
      `Rejected transaction ${ID}: replace by fee found no double spending transaction in the mempool`,
      'replacement_without_conflict',
      false,
    ],
    [
      `Rejected transaction ${ID}: replace by fee found more than one double spending transaction in the mempool`,
      'replacement_with_many_conflicts',
      false,
    ],
    [
      `Rejected transaction ${ID}: fee rate per contextual mass gram is not greater than the fee rate of the replaced transaction`,
      'replacement_fee_too_low',
      false,
    ],
    [
      `Rejected transaction ${ID}: transaction could not be added to the mempool because it's full with transactions with higher priority`,
      'mempool_full',
      true,
    ],
    [
      `Rejected transaction ${ID}: one of the transaction inputs spends an immature UTXO: transaction input #0 tried to spend coinbase outpoint (${PARENT}, 0) with daa score of 1\n    while the merging block daa score is 2 and the coinbase maturity period of 1000 hasn't passed yet`,
      'immature_spend',
      false,
    ],
    [
      `Rejected transaction ${ID}: failed to verify the signature script: false stack entry at end of script execution`,
      'rule_broken',
      false,
    ],
    [
      `Rejected transaction ${ID}: transaction ${ID} is not standard: transaction output #0: non-standard script form`,
      'not_standard',
      false,
    ],
    [`Rejected transaction ${ID}: something new`, 'rejected', false],
    [`Transaction ${ID} not found`, 'transaction_not_found', false],
    ['Method unavailable. Run the node with the --utxoindex argument.', 'no_utxo_index', true],
    ['consensus is currently in a transitional ibd state', 'not_synced', true],
    ['Not implemented', 'not_implemented', false],
    ['RPC method not found', 'method_not_served', true],
    ['Method unavailable in safe mode. Run the node with --unsaferpc argument.', 'safe_mode', false],
    ['request deserialization error', 'bad_request', false],
    ['response serialization error', 'node_fault', true],
    [`cannot find full block ${ID}`, 'block_not_found', true],
    [`cannot find header ${ID}`, 'block_not_found', true],
    [`block ${ID} is too deep (before the current pruning point)`, 'pruned', true],
    [`Block ${ID} doesn't have any merger block.`, 'no_merger', false],
    [
      'utxo inquirer error: Transaction not found at given accepting daa score',
      'transaction_not_found',
      false,
    ],
    [
      'If includeTransactions is set, then includeBlockVerboseData must be set as well.',
      'bad_request',
      false,
    ],
    ['transaction query must either not filter transactions or include orphans', 'bad_request', false],
    ['utxo inquirer error: No transaction specified', 'transaction_not_found', false],
    ['utxo inquirer error: Transaction return address is coinbase', 'no_return_address', false],
    [`utxo inquirer error: Did not find acceptance data for chain block ${ID}`, 'pruned', true],
    [
      `utxo return address could not be found -> Did not find compact header for block hash ${ID} `,
      'pruned',
      true,
    ],
    ['', 'unknown', true],
    ['the disk is on fire', 'unknown', true],
  ]
  for (const [text, reason, elsewhere] of cases) {
    const refusal = classifyRefusal(text)
    assert.equal(refusal.reason, reason, text)
    assert.equal(refusal.elsewhere, elsewhere, text)
    assert.equal(refusal.text, text)
  }
})

test('what else the node has a text for is no unknown refusal', () => {
  const cases: Record<string, readonly string[]> = {
    rule_broken: [
      'transaction gas of 7 is larger than max allowed per-lane gas of 5',
      'orphan transaction size of 7 bytes is larger than max allowed size of 5 bytes',
      `transaction ${ID} is invalid`,
      'script public key of coinbase output #0 is too long',
      'The genesis covenant group array is invalid',
      'outputs are not strictly ordered',
    ],
    mass_too_large: [
      `transaction ${ID} is not standard: transaction storage mass of 7 is larger than max allowed size of 5`,
    ],
    node_fault: ['transactions in mempool form a cycle', `transaction ${ID} doesn't exist in orphan pool`],
  }
  for (const [reason, texts] of Object.entries(cases))
    for (const text of texts) assert.equal(rejected(text).reason, reason, text)
  const others: Record<string, readonly string[]> = {
    bad_request: [
      'The address has an invalid prefix kaspa',
      'The address checksum is invalid',
      'Hex parsing error: Invalid character',
      'RpcTransactionInput.compute_budget is inconsistent with transaction version 0',
      'Missing required field RpcTransaction.mass',
      'Parents by level are not strictly increasing',
      'coinbase payload length is 300 while the maximum allowed length is 204',
    ],
    block_not_found: [`Block ${ID} is invalid. No verbose data can be built.`, `block ${ID} is invalid`],
    not_in_chain: [
      `block ${ID} is genesis and has no selected parent`,
      `sync manager error: block locator low hash ${ID} is not on selected parent chain of high hash ${OTHER}`,
    ],
    not_synced: ['difficulty error: min window timestamp is equal to the max window timestamp'],
    pruned: [`utxo inquirer error: Did not find index 3 in transactions of block ${ID}`],
    node_fault: [
      'traversal error: passed max allowed traversal (3 > 2)',
      `missing reward output 2 in merging chain block ${ID}`,
    ],
    method_not_served: ['Mining on mainnet is not supported for initial Rust versions'],
    not_implemented: ['Feature not supported'],
  }
  for (const [reason, texts] of Object.entries(others))
    for (const text of texts) assert.equal(classifyRefusal(text).reason, reason, text)
})

test('a fee that is too low names the fee that is required, in both forms', () => {
  const compute = rejected(
    `transaction ${ID} is not standard: transaction has 10001 fees which is under the required amount of 203600 for compute mass 2036`,
  )
  assert.deepEqual(
    [
      compute.reason,
      compute.feeSompi,
      compute.requiredFeeSompi,
      compute.massKind,
      compute.mass,
      compute.transactionId,
    ],
    ['fee_too_low', 10_001n, 203_600n, 'compute', 2_036n, ID],
  )
  const transient = rejected(
    `transaction ${ID} is not standard: transaction has 1 fees which is under the required amount of 300 for normalized transient mass 3 (proportional to transaction byte size)`,
  )
  assert.deepEqual(
    [transient.reason, transient.requiredFeeSompi, transient.massKind],
    ['fee_too_low', 300n, 'transient'],
  )
})

test('a double spend names the other transaction; against itself it is the transaction already there', () => {
  const conflict = rejected(`output (${PARENT}, 3) already spent by transaction ${OTHER} in the mempool`)
  assert.equal(conflict.otherTransactionId, OTHER)
  assert.deepEqual(conflict.outpoint, { transactionId: PARENT, index: 3 })
  assert.equal(isAlreadyKnown(conflict), false)
  const self = rejected(`output (${PARENT}, 3) already spent by transaction ${ID} in the mempool`)
  assert.equal(self.reason, 'already_in_mempool')
  assert.equal(isAlreadyKnown(self), true)
})

test('a huge text is cut', () => {
  assert.ok(classifyRefusal('x'.repeat(1_000_000)).text.length <= 2_000)
})
