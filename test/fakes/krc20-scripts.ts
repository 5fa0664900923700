/** Programs that carry a KRC-20 operation, and addresses by the Rust code. */
import kaspa from 'kaspa-wasm32-sdk'

const NETWORK = 'testnet-10'

export function push(hex: string): string {
  const length = hex.length / 2
  const byte = (value: number) => value.toString(16).padStart(2, '0')
  if (length <= 75) return byte(length) + hex
  return (length < 256 ? `4c${byte(length)}` : `4d${byte(length % 256)}${byte(length >> 8)}`) + hex
}

/** `check`: the key check in front of it, hex. */
export function envelope(check: string, members: Readonly<Record<string, string>>): string {
  const json = Buffer.from(JSON.stringify({ p: 'krc-20', ...members })).toString('hex')
  return `${check}006307${Buffer.from('kasplex').toString('hex')}00${push(json)}68`
}

export function scriptOfProgram(program: string): string {
  return kaspa.payToScriptHashScript(program).script
}

/** Of test network 10. */
export function addressOfScript(script: string): string {
  const address = kaspa.addressFromScriptPublicKey(new kaspa.ScriptPublicKey(0, script), NETWORK)
  return address?.toString() ?? ''
}
