import Events
import JSON
import Testing

@Suite struct NotificationProperties {
    @Test func `every property is found by its name and by no other`() throws {
        for property in NotificationProperty.allCases {
            #expect("\(property)" == property.name.description)
            #expect(try Self.property(named: property.name.description) == property)
            #expect(try Self.property(named: property.name.description + "x") == nil)
        }
        #expect(try Self.property(named: "") == nil)
        #expect(try Self.property(named: String(repeating: "x", count: 100)) == nil)
        #expect(try Self.property(named: "tit\\u006ce") == .title)
    }

    private static func property(named name: String) throws -> NotificationProperty? {
        var parser = JSONParser()
        return try Array("\"\(name)\"".utf8).withUnsafeBytes { NotificationProperty(try parser.parse($0)) }
    }
}
