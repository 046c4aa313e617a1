import Testing

@testable import LocalAPNs

/// Rules 1 to 4.
struct ShapeTests {
    var fixture = Fixture()

    @Test mutating func aRequestInOrderIsAccepted() throws {
        #expect(try fixture.refusal() == nil)
        #expect(try fixture.warnings().isEmpty)
    }

    @Test(arguments: [
        Header("APNS-Topic", "x"), Header("x", " x"), Header("x", "x\t"), Header("x", "a\nb"), Header("x", "a\0b"),
        Header("connection", "close"), Header("te", "gzip"), Header("", "x"), Header(":status", "200"),
        Header("content-length", "1"), Header("content-length", "x"),
    ])
    mutating func whatIsNoRequestOfHTTP2ResetsTheStream(header: Header) throws {
        #expect(try fixture.refusal { $0.headers.append(header) } == .reset(.protocolError))
    }

    @Test(arguments: [":method", ":scheme", ":path"])
    mutating func aPseudoHeaderMustBeThereOnce(name: String) throws {
        #expect(try fixture.refusal { $0.headers.removeAll { $0.name == name } } == .reset(.protocolError))
        #expect(try fixture.refusal { $0.headers.insert(Header(name, "/"), at: 0) } == .reset(.protocolError))
    }

    @Test mutating func aPseudoHeaderComesFirst() throws {
        #expect(
            try fixture.refusal { $0.headers.append($0.headers.removeFirst()) } == .reset(.protocolError))
    }

    @Test(arguments: ["/", "/3", "/3/devices/ab", "/2/device/ab"])
    mutating func anotherPathIsBad(path: String) throws {
        #expect(try fixture.refusal { $0.set(":path", path) } == .answer(status: 404, reason: "BadPath"))
    }

    @Test mutating func onlyPostIsAllowed() throws {
        #expect(
            try fixture.refusal { $0.set(":method", "PUT") } == .answer(status: 405, reason: "MethodNotAllowed"))
    }

    @Test(arguments: [
        "authorization", "apns-topic", "apns-push-type", "apns-priority", "apns-expiration", "apns-id",
        "apns-collapse-id",
    ])
    mutating func noHeaderOfAPNsStandsTwice(name: String) throws {
        let refusal = try fixture.refusal {
            $0.headers += [Header(name, "1"), Header(name, "1")]
        }
        #expect(refusal == .bad("DuplicateHeaders"))
    }

    @Test mutating func aHeaderThatAPNsIgnoresMayStandTwice() throws {
        #expect(try fixture.refusal { $0.headers += [Header("x", "1"), Header("x", "1")] } == nil)
    }

    @Test mutating func theFirstFailureWins() throws {
        let refusal = try fixture.refusal {
            $0.set(":method", "GET")
            $0.set("authorization", nil)
            $0.set("apns-priority", "7")
        }
        #expect(refusal == .answer(status: 405, reason: "MethodNotAllowed"))
    }
}
