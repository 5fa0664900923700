import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { Icon } from '../icons.tsx'

/** The platform's own modal dialog: focus stays inside, Escape closes. */
export function Dialog(props: {
  title: string
  onClose: () => void
  children: ComponentChildren
  wide?: boolean
}) {
  const ref = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    ref.current?.showModal()
  }, [])
  return (
    <dialog ref={ref} class={props.wide ? 'wide' : ''} aria-label={props.title} onClose={props.onClose}>
      <header>
        <h2>{props.title}</h2>
        <button type="button" class="button ghost" aria-label="Close" onClick={() => ref.current?.close()}>
          <Icon name="close" />
        </button>
      </header>
      {props.children}
    </dialog>
  )
}

export function Confirm(props: {
  title: string
  text: string
  action: string
  onYes: () => Promise<void>
  onClose: () => void
}) {
  return (
    <Dialog title={props.title} onClose={props.onClose}>
      <p>{props.text}</p>
      <footer>
        <button type="button" class="button" onClick={props.onClose}>
          Cancel
        </button>
        <button
          type="button"
          class="button danger"
          onClick={async () => {
            await props.onYes()
            props.onClose()
          }}
        >
          {props.action}
        </button>
      </footer>
    </Dialog>
  )
}
