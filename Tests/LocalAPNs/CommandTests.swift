import Testing

@testable import LocalAPNs

struct CommandTests {
    @Test(arguments: [("+25m", 1_500_000), ("-10s", -10_000), ("+250ms", 250), ("+2h", 7_200_000), ("+1d", 86_400_000)])
    func `a clock command has a step with a sign and a unit`(text: String, milliseconds: Int64) throws {
        guard case .clock(let step) = try Command.read(#"{"clock":"\#(text)"}"#) else {
            Issue.record("another command")
            return
        }
        #expect(step == milliseconds)
    }

    @Test(arguments: [
        #"{}"#, #"[]"#, #"{"clock":"soon"}"#, #"{"clock":"25m"}"#, #"{"clock":25}"#, #"{"drop":"all"}"#,
        #"{"streams":-1}"#, #"{"clock":"+1s","streams":1}"#, #"{"device":{"token":"a","topic":"b"}}"#, #"{"stop":1}"#,
        #"{"key":{"id":"KEYLOCAL12"}}"#, #"{"key":{"state":"revoked"}}"#, #"{"key":{"id":"K","state":"lost"}}"#,
    ])
    func `a text that is not a command is refused`(text: String) {
        #expect(throws: FieldError.self) { try Command.read(text) }
    }

    @Test func `a device in a command is read as in a file`() throws {
        let line = #"{"token":"AB01","topic":"com.a","environment":"production","state":"unregistered","since":5}"#
        let device = Device(
            token: "ab01", bundle: "com.a", environment: .production, state: .unregistered, since: 5)
        #expect(try LineFile.devices(line, name: "devices") == [device])
        guard case .device(let read) = try Command.read(#"{"device":\#(line)}"#) else {
            Issue.record("another command")
            return
        }
        #expect(read == device)
    }

    @Test func `a script command has one line or several`() throws {
        for text in [#"{"do":{}}"#, #"[{"do":{}},{"quirks":{"upperCaseIDs":true}}]"#] {
            guard case .script(let lines) = try Command.read(#"{"script":\#(text)}"#) else {
                Issue.record("another command")
                continue
            }
            #expect(lines.count == (text.hasPrefix("[") ? 2 : 1))
        }
    }
}

struct ServiceTests {
    private func service(device state: Device.State = .active) -> Service {
        let registry = Registry(devices: [Device(token: "ab01", bundle: "com.a", state: state)])
        return Service(.production, registry: registry) { Fixture.start }
    }

    private func answer(_ service: inout Service, id: String? = nil, expiration: String? = nil) -> Answer {
        var connection = ConnectionState(certificate: ClientCertificate(topics: ["com.a"]))
        var request = PushRequest(
            headers: [
                Header(":method", "POST"), Header(":scheme", "https"), Header(":path", "/3/device/ab01"),
                Header("apns-push-type", "alert"), Header("authorization", "bearer secret"),
            ], body: Array(#"{"aps":{"alert":"Hi"}}"#.utf8))
        request.set("apns-id", id)
        request.set("apns-expiration", expiration)
        let conduct = service.conduct(for: request, on: connection, errors: 0)
        return service.answer(request, as: conduct, on: &connection, stream: 1)
    }

    private static let id = "b77aeb23-2ffb-4a72-8d4c-c9a6c5e5f0d5"

    @Test func `an answer has the request's ID or a new one`() {
        var service = service()
        #expect(answer(&service, id: ServiceTests.id).id == ServiceTests.id)
        let made = answer(&service).id
        #expect(CanonicalUUID.matches(made))
        service.check.quirks.upperCaseIDs = true
        #expect(answer(&service, id: ServiceTests.id).id == ServiceTests.id.uppercased())
    }

    @Test func `only answers of the development environment have a unique ID`() {
        var service = service()
        #expect(answer(&service).uniqueID == nil)
        service.check.environment = .development
        #expect(answer(&service).uniqueID != nil)
    }

    @Test func `a repeated request is recorded as a repeat`() {
        var service = service()
        #expect(answer(&service, id: ServiceTests.id).record?.isRepeat == false)
        #expect(answer(&service, id: ServiceTests.id).record?.isRepeat == true)
    }

    @Test func `the provider token is not recorded`() {
        var service = service()
        let record = answer(&service).record
        #expect(record?.header("apns-push-type") == "alert")
        #expect(record?.header("authorization") == nil)
        #expect(record.map { Record.request($0).json.contains("secret") } == false)
    }

    @Test func `a script changes the status only of requests that would be accepted without the script`() {
        var service = service(device: .unregistered)
        service.replaceScript(with: [.rule(Script.Rule(do: conduct(503)))])
        #expect(answer(&service).status == 410)
        _ = service.set(Device(token: "ab01", bundle: "com.a"))
        #expect(answer(&service).status == 503)
    }

    private func conduct(_ status: Int) -> Conduct {
        var conduct = Conduct()
        conduct.answer = ScriptedAnswer(status: status)
        return conduct
    }

    @Test func `a stored push is delivered when the device is active again`() {
        var service = service(device: .offline)
        #expect(answer(&service, id: ServiceTests.id).record?.fate == "stored")
        #expect(answer(&service).record?.replaced == ServiceTests.id)
        let events = service.set(Device(token: "ab01", bundle: "com.a"))
        #expect(events.map(\.fate) == ["shown"])
        #expect(events.first?.notice.body == "Hi")
    }

    @Test func `stored pushes expire when the clock moves`() {
        var service = service(device: .offline)
        _ = answer(&service, expiration: "\(Fixture.start / 1000 + 60)")
        #expect(service.moveClock(by: 59_999).isEmpty)
        #expect(service.moveClock(by: 1).map(\.fate) == ["expired"])
        #expect(answer(&service, expiration: "0").record?.fate == "dropped")
        _ = answer(&service)
        #expect(service.moveClock(by: Deliveries.storedMilliseconds).count == 1)
    }

    @Test func `a body of several lines is recorded in one line`() throws {
        var service = service()
        var record = try #require(answer(&service).record)
        record.body = Array("{\n \"a\":\r\n1}".utf8)
        #expect(Record.request(record).json.contains(#""body":{  "a":  1}"#))
        record.body = Array("a\nb".utf8)
        #expect(Record.request(record).json.contains(#""body":"a\nb""#))
    }
}
