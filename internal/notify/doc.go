// Package notify tells the service manager that started a process how it is: the
// protocol of systemd's sd_notify(3), over the socket that NOTIFY_SOCKET names.
// Where nobody asked to be told, nothing is sent.
//
// What it must not know: what the process does.
package notify
