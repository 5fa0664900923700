import { useRef, useState } from 'preact/hooks'
import { Icon } from '../icons.tsx'

const SHOWN_MS = 1_600

export function CopyButton({ text, label = 'Copy' }: { text: string; label?: string }) {
  const button = useRef<HTMLButtonElement>(null)
  const [done, setDone] = useState<'Copied' | 'Copy it by hand'>()
  const copy = async () => {
    const isCopied = button.current !== null && (await writeText(text, button.current))
    setDone(isCopied ? 'Copied' : 'Copy it by hand')
    setTimeout(() => setDone(undefined), SHOWN_MS)
  }
  return (
    <button type="button" class="button small copy" ref={button} onClick={copy}>
      <Icon name="copy" />
      <span aria-live="polite">{done ?? label}</span>
    </button>
  )
}

/** The clipboard API exists only on https and localhost, and may be refused. */
async function writeText(text: string, beside: HTMLElement): Promise<boolean> {
  const written = await navigator.clipboard?.writeText(text).then(
    () => true,
    () => false,
  )
  return written ?? selectAndCopy(text, beside)
}

/** Text outside an open dialog cannot be selected, so the field is placed beside the button. */
function selectAndCopy(text: string, beside: HTMLElement): boolean {
  const field = document.createElement('textarea')
  field.value = text
  beside.after(field)
  field.select()
  const isCopied = document.execCommand('copy')
  field.remove()
  beside.focus()
  return isCopied
}
