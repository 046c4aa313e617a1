import Testing

@testable import BelfryTool
@testable import LocalAPNs

struct APNsDisplayTests {
    private func notice(_ payload: String) -> Notice { Notice(payload: Array(payload.utf8)) }

    private func request(
        _ notice: Notice?, status: Int? = 200, fate: String? = "shown", replaced: String? = nil
    ) -> Record {
        .request(
            RecordedRequest(
                time: 0, connection: 1, stream: 3, status: status, reason: status == 200 ? nil : "Shutdown",
                ending: status == nil ? "silence" : nil, id: "1", token: "abcdef0123456789", topic: "com.example.Notes",
                headers: [("apns-push-type", "alert")], body: [], isRepeat: false, warnings: [], fate: fate,
                replaced: replaced, notice: notice))
    }

    private func text(_ form: APNsDisplay.Form?, _ record: Record) -> String? {
        APNsDisplay(form: form, isColoured: false).text(of: record)
    }

    private static let alert =
        #"{"aps":{"alert":{"title":"New note","subtitle":"Home","body":"Milk"},"badge":3,"sound":"default"}}"#

    @Test func `a push is shown as on the device`() {
        let shown = """
            abcdef01…  com.example.Notes
                New note
                Home
                Milk
                badge 3, sound default
            """
        #expect(text(.device, request(notice(APNsDisplayTests.alert))) == shown)
    }

    @Test func `a silent push is shown as a background push`() {
        let silent = notice(#"{"aps":{"content-available":1}}"#)
        #expect(text(.device, request(silent)) == "abcdef01…  com.example.Notes\n    (background)")
    }

    @Test
    func `a push to an offline device shows its fate and no text; a failed request shows its status or "silence"`() {
        let stored = text(.device, request(notice(APNsDisplayTests.alert), fate: "stored"))
        #expect(stored == "abcdef01…  com.example.Notes\n    (stored: the device was offline)")
        #expect(text(.device, request(nil, status: 503, fate: nil)) == "503 Shutdown  abcdef01…")
        #expect(text(.device, request(nil, status: nil, fate: nil)) == "silence  abcdef01…")
    }

    @Test func `a push that is stored or shown instead of an earlier push names the earlier push`() {
        let push = request(notice(APNsDisplayTests.alert), fate: "overwritten", replaced: "7")
        let screen = "abcdef01…  com.example.Notes\n    (stored in place of 7: the device was offline)"
        #expect(text(.device, push) == screen)
        #expect(text(.requests, push)?.hasSuffix("  stored in place of 7") == true)
        let shown = request(notice(APNsDisplayTests.alert), fate: "replaced", replaced: "7")
        #expect(text(.requests, shown)?.hasSuffix("  shown in place of 7") == true)
    }

    @Test func `in the requests form, a request without warnings is shown on one line`() {
        let line =
            "00:00:00.000  1/3  200  abcdef01…  com.example.Notes  alert  New note · Home · Milk · badge 3, sound default"
        #expect(text(.requests, request(notice(APNsDisplayTests.alert))) == line)
    }

    @Test func `a push's text cannot move the terminal's cursor`() {
        let hostile = notice("{\"aps\":{\"alert\":\"a\\u001b[2Jb\"}}")
        #expect(text(.device, request(hostile))?.contains("\u{1B}") == false)
    }
}
