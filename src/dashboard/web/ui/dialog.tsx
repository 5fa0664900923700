import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { Icon } from '../icons.tsx'
import { Button, Problem, useAction } from './parts.tsx'

/**
 * The platform's modal dialog: focus stays inside, and Escape closes it. Focus starts at the first field of its form
 * and returns to the element that opened it, however the dialog ends.
 */
export function Dialog(props: {
  title: string
  onClose: () => void
  children: ComponentChildren
  wide?: boolean
}) {
  const ref = useRef<HTMLDialogElement>(null)
  const onClose = useRef(props.onClose)
  onClose.current = props.onClose
  // A layout effect runs in the same turn in which the page changes, because one dialog may follow another.
  useLayoutEffect(() => {
    const dialog = ref.current
    if (dialog === null) return
    const opener = document.activeElement
    const closed = () => onClose.current()
    dialog.addEventListener('close', closed)
    dialog.showModal()
    dialog.querySelector<HTMLElement>('form :is(input, select, textarea):enabled')?.focus()
    return () => {
      dialog.removeEventListener('close', closed)
      dialog.close()
      // The browser restores the focus only if the dialog is still in the page.
      if (opener instanceof HTMLElement) opener.focus()
    }
  }, [])
  return (
    <dialog ref={ref} class={props.wide ? 'wide' : ''} aria-label={props.title}>
      <header>
        <h2>{props.title}</h2>
        <Button look="ghost" aria-label="Close" onClick={() => ref.current?.close()}>
          <Icon name="close" />
        </Button>
      </header>
      {props.children}
    </dialog>
  )
}

export function Confirm(props: {
  title: string
  text: string
  action: string
  /** Whether nothing is lost by it. */
  harmless?: boolean
  onYes: () => Promise<void>
  onClose: () => void
}) {
  const { run, busy, problem } = useAction(async () => {
    await props.onYes()
    props.onClose()
  })
  return (
    <Dialog title={props.title} onClose={props.onClose}>
      <p>{props.text}</p>
      <Problem text={problem} />
      <footer>
        <Button onClick={props.onClose}>Cancel</Button>
        <Button look={props.harmless ? 'primary' : 'danger'} disabled={busy} onClick={run}>
          {props.action}
        </Button>
      </footer>
    </Dialog>
  )
}
