import Events
import Foundation
import JSON
import TestSupport
import Testing

@Suite struct EventTypes {
    @Test func `no type is declared twice and no type has a member twice`() {
        #expect(Set(EventType.all.map(\.name.description)).count == EventType.all.count)
        for type in EventType.all {
            let members = type.entries.map(\.member.description)
            #expect(Set(members).count == members.count, "\(type.name)")
        }
    }

    @Test(
        arguments: [
            (#"{"type":"badge.set","container":"c","environment":"production","user":"u","badge":3}"#, []),
            (#"{"type":"badge.set","environment":"production","user":"u","badge":3}"#, ["container: missing"]),
            (#"{"type":"badge.set","container":"c","environment":"test","user":"u","badge":3}"#, ["environment"]),
            (
                #"{"type":"badge.set","container":"c","environment":"production","user":7,"badge":-1}"#,
                ["user", "badge"]
            ),
            (#"{"type":"badge.set","container":"c","environment":"production","user":"u","badge":0,"x":1}"#, ["x"]),
        ] as [(String, [String])])
    func `differences of an event from its declared type are reported`(event: String, problems: [String]) throws {
        var parser = JSONParser()
        try event.utf8.withContiguousStorageIfAvailable { bytes in
            let json = try parser.parse(UnsafeRawBufferPointer(bytes))
            let found = try #require(EventType.of(json)).problems(of: json)
            #expect(found.count == problems.count)
            for problem in problems { #expect(found.contains { $0.hasPrefix(problem) }, "\(found)") }
        }
    }
}

@Suite struct EventReferences {
    /// `BELFRY_WRITE_REFERENCE=1 deploy/test --filter Reference` writes the page.
    @Test func `the reference page shows the declared events`() throws {
        try ReferencePage("Events.md").expect(EventType.reference)
    }

    @Test func `every member of every type has a meaning`() {
        for type in EventType.all {
            for entry in type.entries { #expect(entry.member.meaning != nil, "\(type.name) \(entry.member)") }
        }
    }

    @Test(arguments: EventType.all.map(\.schema))
    func `a schema is one JSON object, and requires its title as the type of the event`(schema: String) throws {
        var parser = JSONParser()
        try Array(schema.utf8).withUnsafeBytes { bytes in
            let json = try parser.parse(bytes)
            let title = try #require(json["title"]?.string)
            #expect(json["properties"]?["type"]?["enum"]?.elements.map(\.string) == [title])
            #expect(json["required"]?.elements.contains { $0.string == "type" } == true)
        }
    }
}
