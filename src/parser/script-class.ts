/** The three standard script forms. Every other script, and every script version above 0, has no address. */
export type ScriptClass = 'pubkey' | 'pubkeyecdsa' | 'scripthash' | 'nonstandard'

/** Takes the hex form of a script public key (four digits of version, then the script). */
export function classifyScript(scriptPublicKey: string): ScriptClass {
  if (!scriptPublicKey.startsWith('0000')) return 'nonstandard'
  if (scriptPublicKey.length === 4 + 68) {
    if (scriptPublicKey.startsWith('20', 4) && scriptPublicKey.endsWith('ac')) return 'pubkey'
  } else if (scriptPublicKey.length === 4 + 70) {
    if (scriptPublicKey.startsWith('21', 4) && scriptPublicKey.endsWith('ab')) return 'pubkeyecdsa'
    if (scriptPublicKey.startsWith('aa20', 4) && scriptPublicKey.endsWith('87')) return 'scripthash'
  }
  return 'nonstandard'
}

/** The hash of the program that an output pays to. The program itself stays hidden until the output is spent. */
export function programHashOf(scriptPublicKey: string): string | null {
  return classifyScript(scriptPublicKey) === 'scripthash' ? scriptPublicKey.slice(8, -2) : null
}
