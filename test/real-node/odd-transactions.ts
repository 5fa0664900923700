/** Transactions that a node refuses, each for another reason, and those that it accepts before and in between. */
import assert from 'node:assert/strict'
import type { RealCoin, Wallet } from './wallet.ts'

export interface OddTransaction {
  readonly name: string
  readonly method: 'submitTransaction' | 'submitTransactionReplacement'
  readonly transaction: Record<string, unknown>
}

export const COINS_NEEDED = 8
const NATIVE = '00'.repeat(20)

type Members = Record<string, unknown>

/** The order matters, because some refer to those before them. */
export function oddTransactions(wallet: Wallet, coins: readonly RealCoin[]): OddTransaction[] {
  const { address } = wallet
  const [first, second, third, fourth, fifth, sixth, seventh] = coins
  assert.ok(first && second && third && fourth && fifth && sixth && seventh, 'too few coins')
  const pair = [address, address]
  const good = wallet.pay([fifth], pair).json
  const [input, output] = [(good.inputs as Members[])[0], (good.outputs as Members[])[0]]
  const both = good.outputs as Members[]
  const send = (name: string, transaction: Members): OddTransaction => ({
    ...{ name, method: 'submitTransaction', transaction },
  })
  const replace = (name: string, transaction: Members): OddTransaction => ({
    ...{ name, method: 'submitTransactionReplacement', transaction },
  })
  const changed = (name: string, members: Members) => send(name, { ...good, ...members })
  const inputWith = (name: string, members: Members) => changed(name, { inputs: [{ ...input, ...members }] })
  const outputWith = (name: string, members: Members) =>
    changed(name, { outputs: [{ ...output, ...members }, both[1]] })
  const payment = wallet.pay([first], pair).json
  return [
    send('taken', payment),
    send('again', payment),
    send('double spend', wallet.pay([first], pair, 310_000n).json),
    replace('replacement that pays less', wallet.pay([first], pair, 290_000n).json),
    replace('replacement', wallet.pay([first], pair, 900_000n).json),
    replace('replacement of nothing', wallet.pay([second], pair).json),
    send('first of two', wallet.pay([third], pair).json),
    send('second of two', wallet.pay([fourth], pair).json),
    replace('replacement of two', wallet.pay([third, fourth], pair, 2_000_000n).json),
    inputWith('orphan', { previousOutpoint: { transactionId: 'ab'.repeat(32), index: 0 } }),
    send('fee too low', wallet.pay([fifth], pair, 1_000n).json),
    send('fee too low for its size', { ...wallet.pay([fifth], pair).json, payload: '00'.repeat(20_000) }),
    send('storage mass', wallet.pay([fifth], pair, 300_000n, [1_000n]).json),
    outputWith('no standard output', { scriptPublicKey: '000051' }),
    outputWith('unknown script version', { scriptPublicKey: '000151' }),
    changed('no inputs', { inputs: [] }),
    changed('no outputs', { outputs: [] }),
    changed('the same input twice', { inputs: [input, input] }),
    outputWith('nothing paid', { value: 0n }),
    outputWith('more than there is at all', { value: 2_900_000_000_000_000_001n }),
    outputWith('more than it has', { value: 900_000_000_000_000n }),
    inputWith('no signature', { signatureScript: '' }),
    inputWith('wrong signature', { signatureScript: `41${'11'.repeat(64)}01` }),
    inputWith('a script that is no push', { signatureScript: 'ac' }),
    inputWith('too few signature operations', { sigOpCount: 0 }),
    inputWith('too many signature operations', { sigOpCount: 3 }),
    changed('locked', { lockTime: 400_000_000_000n }),
    inputWith('locked by its sequence', { sequence: 4_000_000n }),
    changed('unknown subnetwork', { subnetworkId: `03${'00'.repeat(19)}` }),
    changed('gas', { gas: 5n }),
    changed('coinbase', { subnetworkId: `01${'00'.repeat(19)}` }),
    changed('unknown version', { version: 2 }),
    changed('signature operations in version 1', { version: 1 }),
    inputWith('compute budget in version 0', { computeBudget: 5 }),
    outputWith('covenant in version 0', { covenant: { authorizingInput: 0, covenantId: 'cd'.repeat(32) } }),
    send('covenant that is not its own', {
      ...good,
      ...{ version: 1, inputs: [{ ...input, sigOpCount: 0, computeBudget: 10 }] },
      outputs: [{ ...output, covenant: { authorizingInput: 0, covenantId: 'cd'.repeat(32) } }, both[1]],
    }),
    send('covenant of no input', {
      ...good,
      ...{ version: 1, inputs: [{ ...input, sigOpCount: 0, computeBudget: 10 }] },
      outputs: [{ ...output, covenant: { authorizingInput: 7, covenantId: 'cd'.repeat(32) } }, both[1]],
    }),
    send('gas in version 1', {
      ...good,
      ...{ version: 1, gas: 5n, inputs: [{ ...input, sigOpCount: 0, computeBudget: 10 }] },
    }),
    changed('two masses', { mass: 1, storageMass: 2 }),
    changed('too many outputs', { outputs: Array.from({ length: 1_001 }, () => output) }),
    changed('payload that is no hex', { payload: 'xyz' }),
    changed('half a byte of payload', { payload: 'abc' }),
    changed('native subnetwork too short', { subnetworkId: NATIVE.slice(2) }),
    outputWith('value as text', { value: '5' }),
    outputWith('value above 64 bits', { value: 1n << 64n }),
    inputWith('no outpoint', { previousOutpoint: null }),
    send('a payment at last', good),
  ]
}
