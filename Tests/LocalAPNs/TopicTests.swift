import Testing

@testable import LocalAPNs

struct TopicTests {
    var fixture = Fixture()

    private mutating func refusal(_ topic: String?, type: String? = "alert") throws -> Refusal? {
        try fixture.refusal {
            $0.set("apns-topic", topic)
            $0.set("apns-push-type", type)
            $0.set("apns-priority", type == "background" ? "5" : nil)
        }
    }

    private static let disallowed = Refusal.bad("TopicDisallowed")

    @Test mutating func `a request with a token needs a topic`() throws {
        #expect(try refusal(nil) == .bad("MissingTopic"))
    }

    @Test mutating func `a request needs no topic if the client's certificate has only one topic`() throws {
        fixture.connection = ConnectionState(certificate: ClientCertificate(topics: [Fixture.bundle]))
        #expect(try refusal(nil) == nil)
        fixture.connection = ConnectionState(
            certificate: ClientCertificate(topics: [Fixture.bundle, "\(Fixture.bundle).voip"]))
        #expect(try refusal(nil) == .bad("MissingTopic"))
    }

    @Test(arguments: ["", "com..example", ".com", "com.", "com/example", "com.exämple"])
    mutating func `a malformed topic is rejected`(topic: String) throws {
        #expect(try refusal(topic) == .bad("BadTopic"))
    }

    @Test(arguments: PushType.allCases)
    mutating func `the topic's suffix must fit the push type`(type: PushType) throws {
        #expect(try refusal(Fixture.bundle + type.suffix, type: type.rawValue) == nil)
        guard type != .mdm else { return }
        let other = type == .voip ? ".complication" : ".voip"
        #expect(try refusal(Fixture.bundle + other, type: type.rawValue) == TopicTests.disallowed)
    }

    @Test mutating func `a topic may have the suffix of any push type if the request names no type`() throws {
        for type in PushType.allCases { #expect(try refusal(Fixture.bundle + type.suffix, type: nil) == nil) }
    }

    @Test mutating func `a key for other topics is rejected`() throws {
        fixture.registry.keys["KEY1234567"]?.bundles = ["com.example.Mail"]
        #expect(try refusal(Fixture.bundle) == TopicTests.disallowed)
        #expect(try refusal("com.example.Mail") == nil)
        #expect(try refusal("com.example.Mail.voip", type: "voip") == nil)
    }

    @Test mutating func `a certificate for other topics is rejected`() throws {
        fixture.connection = ConnectionState(certificate: ClientCertificate(topics: ["com.example.Mail"]))
        #expect(try refusal(Fixture.bundle) == TopicTests.disallowed)
    }

    @Test(arguments: [PushType.location, .liveactivity])
    mutating func `a certificate cannot send location and Live Activity pushes`(type: PushType) throws {
        let topic = Fixture.bundle + type.suffix
        fixture.connection = ConnectionState(certificate: ClientCertificate(topics: [topic]))
        #expect(try refusal(topic, type: type.rawValue) == TopicTests.disallowed)
    }

    @Test mutating func `an app that is registered after a connection's first push needs another connection`() throws {
        fixture = Fixture(isStrict: true, devices: [Device(token: Fixture.device, bundle: Fixture.bundle)])
        var inspection = Inspection(try fixture.request { $0.set("apns-topic", "com.example.Mail") })
        #expect(fixture.refusal(of: &inspection) == TopicTests.disallowed)
        #expect(inspection.warnings.isEmpty)
        fixture.registry.set(Device(token: Fixture.device, bundle: "com.example.Mail"))
        #expect(fixture.refusal(of: &inspection) == TopicTests.disallowed)
        #expect(inspection.warnings.count == 1)
        fixture.connection = ConnectionState(number: 2)
        #expect(try refusal("com.example.Mail") == nil)
    }
}
