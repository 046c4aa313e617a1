import Testing

@testable import LocalAPNs

struct ShapeTests {
    var fixture = Fixture()

    @Test mutating func `a correct request is accepted`() throws {
        #expect(try fixture.refusal() == nil)
        #expect(try fixture.warnings().isEmpty)
    }

    @Test(arguments: [
        Header("APNS-Topic", "x"), Header("x", " x"), Header("x", "x\t"), Header("x", "a\nb"), Header("x", "a\0b"),
        Header("connection", "close"), Header("te", "gzip"), Header("", "x"), Header(":status", "200"),
        Header("content-length", "1"), Header("content-length", "x"),
    ])
    mutating func `a malformed request resets the stream`(header: Header) throws {
        #expect(try fixture.refusal { $0.headers.append(header) } == .reset(.protocolError))
    }

    @Test(arguments: [":method", ":scheme", ":path"])
    mutating func `each required pseudo-header must come exactly once`(name: String) throws {
        #expect(try fixture.refusal { $0.headers.removeAll { $0.name == name } } == .reset(.protocolError))
        #expect(try fixture.refusal { $0.headers.insert(Header(name, "/"), at: 0) } == .reset(.protocolError))
    }

    @Test mutating func `pseudo-headers must come first`() throws {
        #expect(
            try fixture.refusal { $0.headers.append($0.headers.removeFirst()) } == .reset(.protocolError))
    }

    @Test(arguments: ["/", "/3", "/3/devices/ab", "/2/device/ab"])
    mutating func `a request to an unknown path is rejected`(path: String) throws {
        #expect(try fixture.refusal { $0.set(":path", path) } == .answer(status: 404, reason: "BadPath"))
    }

    @Test mutating func `only POST is allowed`() throws {
        #expect(
            try fixture.refusal { $0.set(":method", "PUT") } == .answer(status: 405, reason: "MethodNotAllowed"))
    }

    @Test(arguments: [
        "authorization", "apns-topic", "apns-push-type", "apns-priority", "apns-expiration", "apns-id",
        "apns-collapse-id",
    ])
    mutating func `no header of APNs may come twice`(name: String) throws {
        let refusal = try fixture.refusal {
            $0.headers += [Header(name, "1"), Header(name, "1")]
        }
        #expect(refusal == .bad("DuplicateHeaders"))
    }

    @Test mutating func `a header that APNs ignores may come twice`() throws {
        #expect(try fixture.refusal { $0.headers += [Header("x", "1"), Header("x", "1")] } == nil)
    }

    @Test mutating func `the first check that fails decides the answer`() throws {
        let refusal = try fixture.refusal {
            $0.set(":method", "GET")
            $0.set("authorization", nil)
            $0.set("apns-priority", "7")
        }
        #expect(refusal == .answer(status: 405, reason: "MethodNotAllowed"))
    }
}
