//go:build thirdparty

package thirdparty_test

import (
	"encoding/base64"
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

func TestOneBookingInARealCalendar(t *testing.T) {
	t.Parallel()
	radicale, err := exec.LookPath("radicale")
	if err != nil {
		t.Fatal("radicale is missing: run make thirdparty")
	}
	basic := base64.StdEncoding.EncodeToString([]byte("office:any"))
	files := t.TempDir()
	w := newWorld(t, "../../catalog/caldav/events.yaml", map[string]string{"CALDAV_BASIC": basic, "CALDAV_USER": "office", "CALDAV_CALENDAR": "bookings"}, "CALDAV_URL", func(port string) *exec.Cmd {
		return exec.Command(radicale, "--server-hosts", "127.0.0.1:"+port, "--auth-type", "none", "--storage-filesystem-folder", files)
	})
	if status, body := w.get(t, "MKCALENDAR", "/office/bookings/", "Basic "+basic); status != 201 {
		t.Fatalf("make calendar: %d %s", status, body)
	}
	w.scenes(t, func(id string) string {
		return fmt.Sprintf(`{"booking_id":%q,"day":"20260601","title":"Room for %s"}`, id, id)
	},
		func(id string) int {
			_, body := w.get(t, "GET", "/office/bookings/", "Basic "+basic) // the whole calendar, as its owner would export it
			return strings.Count(body, "SUMMARY:Room for "+id+"\r\n") + strings.Count(body, "SUMMARY:Room for "+id+"\n")
		})
}
